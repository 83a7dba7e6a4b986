import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Problem, problem, problemJson, TITLES } from '../api/problem.ts'
import { problemHeaders } from '../api/send.ts'

// What never reaches the app. node:http would answer without a body, and clients could not say what is wrong.

export const MALFORMED = problem(400, 'RequestMalformed', 'This is not a request of HTTP/1.1 for a path of this server')
export const UNEXPECTED = problem(417, 'ExpectationFailed', 'Nothing but 100-continue can be expected here')
export const BROKEN = problem(500, 'InternalError', 'This should not have happened; the operator can see why')

const REFUSALS: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: problem(431, 'HeadersTooLarge', 'URL and headers have at most 16 KiB together'),
  ERR_HTTP_REQUEST_TIMEOUT: problem(408, 'RequestTimeout', 'The request did not arrive in time'),
}

export const toResponse = (given: Problem): Response =>
  new Response(problemJson(given), { status: given.status, headers: problemHeaders(given) })

export const refuse = (response: ServerResponse, given: Problem): void => {
  response.writeHead(given.status, { ...problemHeaders(given), Connection: 'close' }).end(problemJson(given))
}

const toBytes = (given: Problem): string => {
  const body = problemJson(given)
  const headers = { ...problemHeaders(given), 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${given.status} ${TITLES[given.status]}\r\n${lines.join('')}\r\n${body}`
}

/** Answers what cannot be parsed, unless an answer is under way: more bytes would be taken for a part of it. */
export const answerClientErrors = (server: Server): void => {
  const answers = new WeakMap<Duplex, ServerResponse>()
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => answers.set(socket, response))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const answer = answers.get(socket)
    if (!socket.writable || (answer?.headersSent && !answer.writableFinished)) socket.destroy()
    else socket.end(toBytes(REFUSALS[error.code ?? ''] ?? MALFORMED), () => socket.destroy())
  })
}
