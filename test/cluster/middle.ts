import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer, Agent as HttpsAgent, request } from 'node:https'
import type { Duplex } from 'node:stream'
import type { CertificateRequest, Issued } from './certificates.ts'

// What can stand between a reader and its API server: a network that fails, and a server whose news come late.

type Behind = {
  readonly server: string
  readonly ca: string
  readonly issueCertificate: (request: CertificateRequest) => Issued
}

export type Middle = {
  readonly server: string
  /** All connections end, and none begins. */
  readonly cut: () => void
  readonly reopen: () => void
  /** Keeps back the news of one resource, such as `gateways`; watches that begin meanwhile get none either. */
  readonly hold: (resource: string) => void
  readonly release: () => void
  /** The watches of a resource end with 410, and what was kept back is never sent. */
  readonly expire: (resource: string) => void
  /** Whoever asks for a path that contains this is cut off. */
  readonly block: (part: string | undefined) => void
  /** Or is never answered. */
  readonly hang: (part: string | undefined) => void
  /** How often the server itself said that a version is too old. */
  readonly expirations: () => number
  /** How many requests came whose path contains this. */
  readonly asked: (part: string) => number
  readonly close: () => Promise<void>
}

type Watch = { readonly resource: string; readonly response: ServerResponse; readonly kept: Buffer[] }

const EXPIRED = JSON.stringify({
  type: 'ERROR',
  object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 },
})

const resourceOf = (url: string): string => new URL(url, 'https://server').pathname.split('/').at(-1) ?? ''

export const openMiddle = async ({ server: behind, ca, issueCertificate }: Behind): Promise<Middle> => {
  const notAfter = new Date(Date.now() + 60 * 60 * 1_000)
  const { certificate, key } = issueCertificate({ commonName: 'middle', address: '127.0.0.1', notAfter })
  const agent = new HttpsAgent({ keepAlive: true, ca })
  const sockets = new Set<Duplex>()
  const watches = new Set<Watch>()
  const urls: string[] = []
  let isCut = false
  let held: string | undefined
  let blocked: string | undefined
  let hung: string | undefined
  let expirations = 0

  const server = createServer({ cert: certificate, key }, (incoming, response) => {
    const { method, url = '', headers } = incoming
    urls.push(url)
    if (hung !== undefined && url.includes(hung)) return
    if (blocked !== undefined && url.includes(blocked)) return void response.destroy()
    const sent = request(new URL(url, behind), { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      response.flushHeaders()
      const watch: Watch = { resource: url.includes('watch=') ? resourceOf(url) : '', response, kept: [] }
      watches.add(watch)
      if (answer.statusCode === 410) expirations++
      answer.on('data', (chunk: Buffer) => {
        if (watch.resource !== '' && chunk.includes('"code":410')) expirations++
        if (watch.resource !== '' && watch.resource === held) watch.kept.push(chunk)
        else response.write(chunk)
      })
      answer.once('end', () => response.end())
      answer.once('error', () => response.destroy())
      response.once('close', () => {
        watches.delete(watch)
        answer.destroy()
      })
    })
    sent.once('error', () => response.destroy())
    incoming.pipe(sent)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    if (isCut) socket.destroy()
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()

  const end = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    server: `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    cut: () => {
      isCut = true
      end()
    },
    reopen: () => {
      isCut = false
    },
    hold: (resource) => {
      held = resource
    },
    release: () => {
      held = undefined
      for (const { kept, response } of watches) for (const chunk of kept.splice(0)) response.write(chunk)
    },
    expire: (resource) => {
      held = undefined
      for (const watch of watches) if (watch.resource === resource) watch.response.end(`${EXPIRED}\n`)
    },
    block: (part) => {
      blocked = part
    },
    hang: (part) => {
      hung = part
    },
    expirations: () => expirations,
    asked: (part) => urls.filter((url) => url.includes(part)).length,
    close: async () => {
      end()
      agent.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
