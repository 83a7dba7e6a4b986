import { type Context, Hono } from 'hono'
import { type Bytes, joinBytes } from '../../core/model/bytes.ts'
import { digestOf } from '../../core/model/digest.ts'
import { findVersion, findVersions } from '../../core/serve/find-rows.ts'
import { slicesOf } from '../../core/serve/layout.ts'
import type { OpenPublication } from '../publication/open-publication.ts'
import type { Answer, Reader } from '../publication/reader.ts'
import { renderHealth } from './health.ts'

const HEADERS = {
  'Content-Type': 'application/json',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Age',
}
const CACHED = 'public, max-age=30, stale-while-revalidate=60, stale-if-error=86400'
const BRIEFLY = 'public, max-age=5'

type Body = { readonly bytes: Bytes; readonly etag: string }

/** One body that satisfies the spec (`error`) and the official server (`title`, `status`, `detail`). */
const fail = (c: Context, status: 404 | 503, title: string, code: string, detail: string): Response =>
  c.body(JSON.stringify({ title, status, detail, error: detail, code }), status, {
    ...HEADERS,
    'Cache-Control': BRIEFLY,
    ...(status === 503 && { 'Retry-After': '5' }),
  })

const notFound = (c: Context, code: string, detail: string): Response => fail(c, 404, 'Not Found', code, detail)

/** Weak comparison: a cache on the way may have made our tag weak. */
const isKnown = (header = '', etag: string): boolean =>
  header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)

const send = (c: Context, answer: Answer<Body | undefined>, missing: string): Response => {
  if (answer.kind === 'unknownRegistry') return notFound(c, 'RegistryNotFound', 'Registry not found')
  if (answer.kind === 'unavailable') return fail(c, 503, 'Service Unavailable', 'StoreUnavailable', answer.detail)
  if (answer.value === undefined) return notFound(c, 'ServerNotFound', missing)
  const { bytes, etag } = answer.value
  const headers = {
    ...HEADERS,
    'Cache-Control': CACHED,
    ETag: etag,
    ...(answer.age !== undefined && { Age: String(answer.age) }),
  }
  return isKnown(c.req.header('If-None-Match'), etag) ? c.body(null, 304, headers) : c.body(bytes, 200, headers)
}

const encode = (text: string): Bytes => new TextEncoder().encode(text)
const COMMA = encode(',')

/** A list of rows that are neighbours, or single ones: slices of chunks with commas between them. */
const listOf = async (
  publication: OpenPublication,
  ranges: readonly (readonly [number, number])[],
  format: string,
): Promise<Body> => {
  const { columns, layout, document, read } = publication
  const slices = await Promise.all(ranges.flatMap(([from, to]) => slicesOf(layout, columns, from, to)).map(read))
  const count = ranges.reduce((sum, [from, to]) => sum + to - from, 0)
  const head = encode(`{"metadata":{"count":${count}},"servers":[`)
  const body = slices.flatMap((slice, index) => (index === 0 ? [slice] : [COMMA, slice]))
  return { bytes: joinBytes([head, ...body, encode(']}')]), etag: `"${document.slice(0, 16)}.${format}"` }
}

const rowBody = async ({ columns, layout, read }: OpenPublication, row: number): Promise<Body | undefined> => {
  const [slice] = slicesOf(layout, columns, row, row + 1)
  const bytes = slice && (await read(slice))
  return bytes && { bytes, etag: `"${digestOf(bytes).slice(0, 32)}"` }
}

/** The MCP Registry API over what a reader has; the first registry is also served without its name. */
export const createApi = (reader: Reader): Hono => {
  const app = new Hono()
  app.get('/healthz', (c) => c.body('{"status":"healthy"}', 200, HEADERS))
  app.get('/readyz', async (c) => {
    const { status, body } = renderHealth(await reader.health())
    return c.body(body, status, { ...HEADERS, 'Cache-Control': 'no-store' })
  })
  for (const base of ['/v0.1', '/registry/:registry/v0.1']) {
    app.get(`${base}/servers`, async (c) =>
      send(
        c,
        await reader.ask(c.req.param('registry'), (publication) =>
          listOf(publication, [[0, publication.layout.runs[2]]], 'json'),
        ),
        '',
      ),
    )
    app.get(`${base}/servers/:name/versions`, async (c) => {
      const answer = await reader.ask(c.req.param('registry'), async (publication) => {
        const rows = findVersions(publication.columns, publication.layout, c.req.param('name') ?? '')
        const ranges = rows.map((row) => [row, row + 1] as const)
        return rows.length === 0 ? undefined : listOf(publication, ranges, 'versions')
      })
      return send(c, answer, 'Server not found')
    })
    app.get(`${base}/servers/:name/versions/:version`, async (c) => {
      const { name = '', version = '' } = c.req.param()
      const answer = await reader.ask(c.req.param('registry'), async (publication) => {
        const row = findVersion(publication.columns, publication.layout, name, version)
        return row === undefined ? undefined : rowBody(publication, row)
      })
      return send(c, answer, 'Server or version not found')
    })
  }
  app.notFound((c) => notFound(c, 'PathNotFound', 'There is nothing here; the list of servers is at /v0.1/servers'))
  return app
}
