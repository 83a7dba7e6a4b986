import type { Bytes } from '../../core/model/bytes.ts'
import { gzip } from '../publication/gzip.ts'
import type { OpenPublication } from '../publication/open-publication.ts'
import type { Reader } from '../publication/reader.ts'
import type { Body } from './answers.ts'
import { acceptsGzip, findKnown } from './conditions.ts'

type Headers = Record<string, string>
type Hot = {
  readonly registry: string | undefined
  readonly publication: OpenPublication
  readonly body: Body
  readonly headers: Headers
  compressed?: { readonly bytes: Bytes; readonly headers: Headers }
}

const MOST_BYTES = 8 * 1024 * 1024
/** Below that, a compressed answer is hardly smaller. */
const WORTH_COMPRESSING = 1024

const respond = (
  request: Request,
  hot: Hot,
  compresses: boolean,
  count: (bytes: number) => void,
): Response | Promise<Response> => {
  const { body, headers } = hot
  const known = findKnown(request.headers.get('If-None-Match'), body.etag)
  if (known !== undefined)
    return new Response(null, { status: 304, headers: known === headers.ETag ? headers : { ...headers, ETag: known } })
  const wantsGzip =
    compresses && body.bytes.length >= WORTH_COMPRESSING && acceptsGzip(request.headers.get('Accept-Encoding'))
  if (!wantsGzip) return new Response(body.bytes, { status: 200, headers })
  if (hot.compressed !== undefined)
    return new Response(hot.compressed.bytes, { status: 200, headers: hot.compressed.headers })
  return gzip(body.bytes).then((bytes) => {
    count(bytes.length)
    hot.compressed = { bytes, headers: { ...headers, ETag: `"${body.etag}-gz"`, 'Content-Encoding': 'gzip' } }
    return new Response(bytes, { status: 200, headers: hot.compressed.headers })
  })
}

/**
 * Answers by the URL that asked for them. While what they were made of is current, they are given again without asking
 * anybody, with the same headers; a cache that is full forgets everything.
 */
export const createHotAnswers = (reader: Reader, compresses: boolean) => {
  const answers = new Map<string, Hot>()
  /** Which publication of each registry is remembered: one that is replaced must not be held by its answers. */
  const newest = new Map<string | undefined, OpenPublication>()
  let size = 0
  const forget = (): void => {
    answers.clear()
    newest.clear()
    size = 0
  }
  const count = (bytes: number): void => {
    size += bytes
    if (size > MOST_BYTES) forget()
  }
  return {
    /** `undefined` where it is not known, or not known to be current. */
    find: (request: Request): Response | Promise<Response> | undefined => {
      const hot = request.method === 'GET' ? answers.get(request.url) : undefined
      if (hot === undefined || reader.current(hot.registry) !== hot.publication) return undefined
      return respond(request, hot, compresses, count)
    },
    /** Gives a new answer, and remembers it where it is what everyone should get now. */
    give: (
      request: Request,
      registry: string | undefined,
      publication: OpenPublication,
      body: Body,
      headers: Headers,
    ): Response | Promise<Response> => {
      const hot: Hot = { registry, publication, body, headers }
      if (reader.current(registry) === publication && body.bytes.length < MOST_BYTES / 8) {
        if ((newest.get(registry) ?? publication) !== publication) forget()
        if (!answers.has(request.url)) count(body.bytes.length + request.url.length)
        newest.set(registry, publication)
        answers.set(request.url, hot)
      }
      return respond(request, hot, compresses, count)
    },
  }
}
