import type { Bytes } from './bytes.ts'

/** What a query needs to know of one entry, and where its bytes are. */
export type Row = {
  readonly name: string
  readonly version: string
  /** Title and description in lower case. */
  readonly search: string
  readonly publishedAt: number
  readonly updatedAt: number
  readonly isLatest: boolean
  readonly isDeleted: boolean
  /** How many bytes the entry has, and at which of them its server.json begins; it ends one before the entry does. */
  readonly bytes: number
  readonly serverAt: number
}

/** All rows of a publication in stored order. One array a question, one text for all words: 100,000 rows stay small. */
export type Columns = {
  readonly count: number
  readonly publishedAt: Float64Array
  readonly updatedAt: Float64Array
  readonly bytes: Uint32Array
  readonly serverAt: Uint16Array
  readonly flags: Uint8Array
  /** All names, then all versions, then all search texts; `ends` says where each of them ends, in that order. */
  readonly text: string
  readonly ends: Uint32Array
}

const MAGIC = 0x31435057 // WPC1
const HEADER_BYTES = 16
const LATEST = 1
const DELETED = 2

/** The arrays in the order of their width, so that each starts where its width allows. */
const layoutOf = (count: number) => {
  const publishedAt = HEADER_BYTES
  const updatedAt = publishedAt + count * 8
  const bytes = updatedAt + count * 8
  const serverAt = bytes + count * 4
  const searchUnits = serverAt + count * 2
  const nameUnits = searchUnits + count * 2
  const versionUnits = nameUnits + count
  const flags = versionUnits + count
  return { publishedAt, updatedAt, bytes, serverAt, searchUnits, nameUnits, versionUnits, flags, text: flags + count }
}

const fits = (value: number, most: number, what: string): number => {
  if (value > most) throw new Error(`${what} has ${value}, more than a column holds`)
  return value
}

/** Lengths are stored, not places: most are alike, so they compress to almost nothing. */
export const encodeColumns = (rows: readonly Row[]): Bytes => {
  const text = new TextEncoder().encode(
    [rows.map(({ name }) => name), rows.map(({ version }) => version), rows.map(({ search }) => search)]
      .flat()
      .join(''),
  )
  const at = layoutOf(rows.length)
  const encoded = new Uint8Array(at.text + text.length)
  const view = new DataView(encoded.buffer)
  view.setUint32(0, MAGIC, true)
  view.setUint32(4, rows.length, true)
  view.setUint32(8, text.length, true)
  for (const [index, row] of rows.entries()) {
    view.setFloat64(at.publishedAt + index * 8, row.publishedAt, true)
    view.setFloat64(at.updatedAt + index * 8, row.updatedAt, true)
    view.setUint32(at.bytes + index * 4, row.bytes, true)
    view.setUint16(at.serverAt + index * 2, fits(row.serverAt, 0xffff, `serverAt of ${row.name}`), true)
    view.setUint16(at.searchUnits + index * 2, fits(row.search.length, 0xffff, `search of ${row.name}`), true)
    view.setUint8(at.nameUnits + index, fits(row.name.length, 0xff, `name of ${row.name}`))
    view.setUint8(at.versionUnits + index, fits(row.version.length, 0xff, `version of ${row.name}`))
    view.setUint8(at.flags + index, (row.isLatest ? LATEST : 0) | (row.isDeleted ? DELETED : 0))
  }
  encoded.set(text, at.text)
  return encoded
}

/** `undefined` where the bytes are no columns. */
export const decodeColumns = (encoded: Bytes): Columns | undefined => {
  if (encoded.length < HEADER_BYTES) return undefined
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.length)
  const count = view.getUint32(4, true)
  const at = layoutOf(count)
  if (view.getUint32(0, true) !== MAGIC || encoded.length !== at.text + view.getUint32(8, true)) return undefined
  // A copy of each part: typed arrays want their bytes aligned, and the text need not be kept twice.
  const part = (from: number, to: number): ArrayBuffer => encoded.slice(from, to).buffer
  const ends = new Uint32Array(count * 3)
  let end = 0
  const widths = [
    new Uint8Array(part(at.nameUnits, at.versionUnits)),
    new Uint8Array(part(at.versionUnits, at.flags)),
    new Uint16Array(part(at.searchUnits, at.nameUnits)),
  ]
  for (const [block, units] of widths.entries()) {
    for (let index = 0; index < count; index++) {
      end += units[index] ?? 0
      ends[block * count + index] = end
    }
  }
  const text = new TextDecoder().decode(encoded.subarray(at.text))
  if (text.length !== end) return undefined
  return {
    count,
    publishedAt: new Float64Array(part(at.publishedAt, at.updatedAt)),
    updatedAt: new Float64Array(part(at.updatedAt, at.bytes)),
    bytes: new Uint32Array(part(at.bytes, at.serverAt)),
    serverAt: new Uint16Array(part(at.serverAt, at.searchUnits)),
    flags: new Uint8Array(part(at.flags, at.text)),
    text,
    ends,
  }
}

const word = ({ text, ends }: Columns, index: number): string => text.slice(ends[index - 1] ?? 0, ends[index])

export const nameOf = (columns: Columns, row: number): string => word(columns, row)
export const versionOf = (columns: Columns, row: number): string => word(columns, columns.count + row)
export const searchOf = (columns: Columns, row: number): string => word(columns, 2 * columns.count + row)
export const isLatest = ({ flags }: Columns, row: number): boolean => ((flags[row] ?? 0) & LATEST) !== 0
export const isDeleted = ({ flags }: Columns, row: number): boolean => ((flags[row] ?? 0) & DELETED) !== 0
