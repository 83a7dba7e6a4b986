import type { Context } from 'hono'
import type { Bytes } from '../../core/model/bytes.ts'
import { digestOf } from '../../core/model/digest.ts'
import type { Answer } from '../publication/reader.ts'
import { findKnown } from './conditions.ts'
import { type Problem, problem, problemJson } from './problem.ts'

/** On every answer, errors included: a browser that may not read an error cannot say what is wrong. */
export const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-None-Match',
  'Access-Control-Expose-Headers': 'ETag, Age, Retry-After',
}
const JSON_HEADERS = { ...CORS, 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' }
const CACHED = 'public, max-age=30, stale-while-revalidate=60, stale-if-error=86400'
export const BRIEFLY = 'public, max-age=5'

export const problemHeaders = ({ headers }: Problem): Record<string, string> => ({
  ...JSON_HEADERS,
  'Cache-Control': BRIEFLY,
  ...headers,
})

export const sendProblem = (c: Context, given: Problem): Response =>
  c.body(problemJson(given), given.status, problemHeaders(given))

/** Small answers that are made for the moment. */
export const sendJson = (c: Context, json: string, status: 200 | 503 = 200): Response =>
  c.body(json, status, { ...JSON_HEADERS, 'Cache-Control': 'no-store' })

const HOUR = 'public, max-age=3600'
/** A page of ours needs its own styles and nothing else. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** What does not change while this version runs. */
export const sendText = (c: Context, text: string, type: string): Response => {
  const etag = digestOf(text).slice(0, 32)
  const headers = {
    ...CORS,
    'Content-Type': type,
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': HOUR,
    ETag: `"${etag}"`,
  }
  const isKnown = findKnown(c.req.header('If-None-Match'), etag) !== undefined
  return isKnown ? c.body(null, 304, headers) : c.body(text, 200, headers)
}

/** All headers in one call: what touches them later costs several times as much as the answer. */
export const headersOf = (etag: string, age: number | undefined, compresses: boolean): Record<string, string> => ({
  ...JSON_HEADERS,
  'Cache-Control': CACHED,
  ETag: `"${etag}"`,
  ...(compresses && { Vary: 'Accept-Encoding' }),
  ...(age !== undefined && { Age: String(age) }),
})

export const NO_REGISTRY = problem(404, 'RegistryNotFound', 'Registry not found')

export const unavailable = (detail = 'Nothing can be said of it at the moment.'): Problem =>
  problem(503, 'StoreUnavailable', detail, { 'Retry-After': '5' })

/** Why there is no answer. */
export const problemOf = (answer: Answer<unknown>): Problem => {
  if (answer.kind === 'unknownRegistry') return NO_REGISTRY
  return answer.kind === 'unavailable' ? unavailable(answer.detail) : problem(404, 'ServerNotFound', 'Server not found')
}

/** Piece by piece, as fast as it is taken. */
export const streamOf = (pieces: AsyncIterable<Bytes>): ReadableStream<Bytes> => {
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}
