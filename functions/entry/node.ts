import { createServer, type Server } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { Hono } from 'hono'
import { OperationError } from '../../core/model/operation-error.ts'
import type { Listening } from '../cli/world.ts'
import { answerClientErrors, BROKEN, MALFORMED, refuse, toResponse, UNEXPECTED } from './refusals.ts'

/** How long a request that is under way may hold up the end. */
const PATIENCE = 5000

const whyNot = (error: NodeJS.ErrnoException, host: string, port: number): string => {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} of ${host} is taken. Choose another with --port (npm start -- --port ${port + 1}), or stop what uses it.`
  if (error.code === 'EACCES')
    return `Port ${port} needs more rights than this user has. Choose one above 1023 with --port.`
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return `${host} is no address of this machine. Choose another with --host.`
  return `Cannot listen on ${host}, port ${port}: ${error.message}.`
}

const answerError = (error: unknown): Response => {
  if (error instanceof RequestError) return toResponse(MALFORMED)
  // Our bug: whoever asked cannot help it, and whoever runs this must hear of it.
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  return toResponse(BROKEN)
}

const createHttpServer = (app: Hono): Server => {
  // Health checks of HTTP/1.0 name no host; nothing that is served depends on it.
  const answer = getRequestListener(app.fetch, { hostname: 'localhost', errorHandler: answerError })
  const server = createServer({ requireHostHeader: false }, (request, response) =>
    request.httpVersion === '1.1' && request.headers.host === undefined
      ? refuse(response, MALFORMED)
      : answer(request, response),
  )
  server.on('checkExpectation', (_, response) => refuse(response, UNEXPECTED))
  answerClientErrors(server)
  return server
}

/** Serves an app with node:http until SIGINT or SIGTERM. */
export const listen = (app: Hono, host: string, port: number): Promise<Listening> =>
  new Promise((resolve, reject) => {
    const server = createHttpServer(app)
    server.once('error', (error) =>
      reject(new OperationError('CannotListen', whyNot(error, host, port), { cause: error })),
    )
    server.listen(port, host, () => {
      const address = server.address()
      const closed = new Promise<void>((end) => server.once('close', end))
      const stop = (): void => {
        server.close()
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), PATIENCE).unref()
      }
      // `on`, not `once`: Ctrl-C reaches this process twice, from the terminal and through the launcher.
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
      resolve({ port: typeof address === 'object' && address !== null ? address.port : port, closed })
    })
  })
