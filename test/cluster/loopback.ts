import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http'
import { Agent, createServer as createHttpsServer, request } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { Issued } from './certificates.ts'

// Small servers of a test's own, between a reader and an API server or instead of one.

export type Started = { readonly port: number; readonly stop: () => Promise<void> }

const start = (server: Server): Promise<Started> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    // Whoever cuts a connection is not our failure.
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        stop: () =>
          new Promise((stopped) => {
            server.close(() => stopped())
            for (const socket of sockets) socket.destroy()
          }),
      }),
    )
  })
}

/** Takes connections, and never says a word. */
export const startSilence = (): Promise<Started> => start(createTcpServer())

export const startTls = ({ certificate, key }: Issued, listener: RequestListener): Promise<Started> => {
  const server = createHttpsServer({ cert: certificate, key }, listener)
  server.on('tlsClientError', () => {})
  return start(server)
}

/** A proxy for `proxy-url`. Where it was asked to connect to is in `asked`; with a status it refuses everybody. */
export const startConnectProxy = async (refusal?: number) => {
  const asked: { readonly to: string; readonly authorization: string | undefined }[] = []
  const server = createHttpServer()
  server.on('connect', (incoming: IncomingMessage, socket: Socket) => {
    const to = incoming.url ?? ''
    asked.push({ to, authorization: incoming.headers['proxy-authorization'] })
    if (refusal !== undefined) return socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`)
    const [host, port] = to.split(':')
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      socket.pipe(upstream).pipe(socket)
    })
    upstream.on('error', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
  })
  return { asked, ...(await start(server)) }
}

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Asks the real server, as whoever the headers say. */
export const createForwarder = ({ server, ca }: { readonly server: string; readonly ca: string }) => {
  const agent = new Agent({ keepAlive: true, ca })
  const forward = (path: string, authorization: string | undefined): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { accept: 'application/json', ...(authorization !== undefined && { authorization }) }
      const call = request(`${server}${path}`, { agent, headers }, (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.once('error', reject)
        incoming.once('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: { 'content-type': incoming.headers['content-type'] ?? '' },
            body: Buffer.concat(chunks),
          }),
        )
      })
      call.once('error', reject)
      call.end()
    })
  return { forward, stop: () => agent.destroy() }
}
