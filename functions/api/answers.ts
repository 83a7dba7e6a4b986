import { type Bytes, joinBytes } from '../../core/model/bytes.ts'
import { digestOf } from '../../core/model/digest.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { findVersion, findVersions } from '../../core/serve/find-rows.ts'
import { slicesOf } from '../../core/serve/layout.ts'
import { selectPage } from '../../core/serve/select-rows.ts'
import type { OpenPublication } from '../publication/open-publication.ts'
import { encodeCursor } from './cursor.ts'
import type { ListRequest } from './parse-list.ts'

/** What is sent: bytes that were prepared at sync, with a frame around them. Nothing of an entry is parsed. */
export type Body = { readonly bytes: Bytes; readonly etag: string }

const encode = (text: string): Bytes => new TextEncoder().encode(text)
const COMMA = encode(',')

/** The bytes of rows in their order; neighbours are one slice. */
const bytesOf = async (
  { columns, layout, read }: OpenPublication,
  rows: readonly number[],
): Promise<readonly Bytes[]> => {
  const ranges: [number, number][] = []
  for (const row of rows) {
    const last = ranges.at(-1)
    if (last?.[1] === row) last[1] = row + 1
    else ranges.push([row, row + 1])
  }
  const slices = ranges.flatMap(([from, to]) => slicesOf(layout, columns, from, to))
  return (await Promise.all(slices.map(read))).flatMap((bytes, index) => (index === 0 ? [bytes] : [COMMA, bytes]))
}

const listBody = async (
  publication: OpenPublication,
  rows: readonly number[],
  nextCursor: string | undefined,
  format: string,
): Promise<Body> => {
  const next = nextCursor === undefined ? '' : `,"nextCursor":"${nextCursor}"`
  const head = encode(`{"metadata":{"count":${rows.length}${next}},"servers":[`)
  const bytes = joinBytes([head, ...(await bytesOf(publication, rows)), encode(']}')])
  return { bytes, etag: `${publication.document.slice(0, 16)}.${format}` }
}

export const answerList = async (publication: OpenPublication, request: ListRequest): Promise<Body> => {
  const { columns, layout } = publication
  const { rows, next } = selectPage(columns, layout, request.query, request.after, request.limit)
  const cursor = next && encodeCursor({ parameters: request.parameters, after: next })
  return listBody(publication, rows, cursor, 'list')
}

/** All versions of a server, the newest first; `undefined` where there is none. */
export const answerVersions = async (
  publication: OpenPublication,
  name: string,
  includesDeleted: boolean,
): Promise<Body | undefined> => {
  const rows = findVersions(publication.columns, publication.layout, name, includesDeleted)
  return rows.length === 0 ? undefined : listBody(publication, rows, undefined, 'versions')
}

/** One version of a server, or `latest`. Its tag is of its own bytes: another entry that changes does not change it. */
export const answerVersion = async (
  publication: OpenPublication,
  name: string,
  version: string,
  includesDeleted: boolean,
): Promise<Body | undefined> => {
  const row = findVersion(publication.columns, publication.layout, name, version, includesDeleted)
  const [bytes] = row === undefined ? [] : await bytesOf(publication, [row])
  return bytes && { bytes, etag: digestOf(bytes).slice(0, 32) }
}

const SCHEMA =
  'https://raw.githubusercontent.com/stacklok/toolhive-core/main/registry/types/data/upstream-registry.schema.json'

/**
 * The whole registry as one upstream file: the server.json of every latest entry. It may be large, so it is given piece
 * by piece. All of it is read once before the first piece goes out, so that what is damaged is known before; what does
 * not fit into the memory for chunks is read twice.
 */
export const answerFile = async (
  { columns, layout, document, read }: OpenPublication,
  isWanted: (etag: string) => boolean,
): Promise<{ readonly etag: string; readonly pieces: AsyncIterable<Bytes> | undefined }> => {
  const etag = `${document.slice(0, 16)}.file`
  if (!isWanted(etag)) return { etag, pieces: undefined }
  const [from, to] = layout.runs
  const slices = slicesOf(layout, columns, from, to)
  await inParallel(slices, read)
  const newest = columns.updatedAt.reduce((a, b) => Math.max(a, b), 0)
  const serversIn = (bytes: Bytes, first: number): Bytes => {
    const parts: Bytes[] = []
    for (let row = first, at = 0; at < bytes.length; row++) {
      const end = at + (columns.bytes[row] ?? 0)
      parts.push(...(row === from ? [] : [COMMA]), bytes.subarray(at + (columns.serverAt[row] ?? 0), end - 1))
      at = end + 1
    }
    return joinBytes(parts)
  }
  const pieces = async function* (): AsyncIterable<Bytes> {
    yield encode(`{"$schema":"${SCHEMA}","data":{"servers":[`)
    let row = from
    for (const slice of slices) {
      yield serversIn(await read(slice), row)
      row += slice.chunk.entries
    }
    yield encode(`]},"meta":{"last_updated":"${new Date(newest).toISOString()}"},"version":"1.0.0"}`)
  }
  return { etag, pieces: pieces() }
}
