import type { Columns } from '../model/columns.ts'
import { type ChunkRef, type Manifest, RUNS, type Run } from '../model/publication.ts'

/** Where the bytes of each row are: rows are neighbours in their chunk, chunks in their run. */
export type Layout = {
  readonly chunks: readonly ChunkRef[]
  /** The first row of each chunk, and after the last the number of rows. */
  readonly firstRows: Uint32Array
  /** Where each row begins in its chunk. */
  readonly offsets: Uint32Array
  /** The first row of each run, and after the last the number of rows: latest, older, deleted. */
  readonly runs: readonly [number, number, number, number]
}

/** A part of a chunk: whole entries with a comma between them. */
export type Slice = { readonly chunk: ChunkRef; readonly from: number; readonly to: number }

/** `undefined` where manifest and columns do not speak of the same entries. */
export const layOut = (manifest: Manifest, columns: Columns): Layout | undefined => {
  const chunks = RUNS.flatMap((run) => manifest.runs[run])
  const firstRows = new Uint32Array(chunks.length + 1)
  const offsets = new Uint32Array(columns.count)
  let row = 0
  for (const [index, { entries, bytes }] of chunks.entries()) {
    firstRows[index] = row
    let at = 0
    for (const end = row + entries; row < end; row++) {
      offsets[row] = at
      at += (columns.bytes[row] ?? 0) + 1
    }
    if (at !== bytes + 1) return undefined
  }
  if (row !== columns.count) return undefined
  firstRows[chunks.length] = row
  const rowsOf = (run: Run): number => manifest.runs[run].reduce((sum, { entries }) => sum + entries, 0)
  const older = rowsOf('latest')
  const deleted = older + rowsOf('older')
  return { chunks, firstRows, offsets, runs: [0, older, deleted, row] }
}

const chunkAt = ({ firstRows, chunks }: Layout, row: number): number => {
  let [low, high] = [0, chunks.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((firstRows[middle] ?? 0) <= row) low = middle
    else high = middle - 1
  }
  return low
}

/** The bytes of the rows from `from` to before `to`, as parts of chunks. */
export const slicesOf = (layout: Layout, columns: Columns, from: number, to: number): readonly Slice[] => {
  const slices: Slice[] = []
  for (let row = from; row < to; ) {
    const index = chunkAt(layout, row)
    const chunk = layout.chunks[index]
    const end = Math.min(to, layout.firstRows[index + 1] ?? to)
    if (chunk === undefined) break
    const last = end - 1
    slices.push({ chunk, from: layout.offsets[row] ?? 0, to: (layout.offsets[last] ?? 0) + (columns.bytes[last] ?? 0) })
    row = end
  }
  return slices
}
