import { type Columns, isLatest, nameOf, versionOf } from '../model/columns.ts'
import type { Layout } from './layout.ts'

/** The first row from `from` to before `to` whose name is not before `name`. */
export const seekName = (columns: Columns, name: string, from: number, to: number): number => {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >> 1
    if (nameOf(columns, middle) < name) low = middle + 1
    else high = middle
  }
  return low
}

/** The rows of one name in one run; they are neighbours. */
const rowsIn = (columns: Columns, name: string, from: number, to: number): readonly number[] => {
  const rows: number[] = []
  for (let row = seekName(columns, name, from, to); row < to && nameOf(columns, row) === name; row++) rows.push(row)
  return rows
}

/** All versions of a server, the newest published first. */
export const findVersions = (
  columns: Columns,
  { runs }: Layout,
  name: string,
  includesDeleted: boolean,
): readonly number[] => {
  const publishedAt = (row: number): number => columns.publishedAt[row] ?? 0
  return [
    ...rowsIn(columns, name, runs[0], runs[1]),
    // Within a run the order is that of the versions: of two that came together, the higher one first.
    ...rowsIn(columns, name, runs[1], runs[2]).toReversed(),
    ...(includesDeleted ? rowsIn(columns, name, runs[2], runs[3]).toReversed() : []),
  ].sort((a, b) => publishedAt(b) - publishedAt(a))
}

/** One version of a server, or `latest`. */
export const findVersion = (
  columns: Columns,
  layout: Layout,
  name: string,
  version: string,
  includesDeleted: boolean,
): number | undefined =>
  findVersions(columns, layout, name, includesDeleted).find((row) =>
    version === 'latest' ? isLatest(columns, row) : versionOf(columns, row) === version,
  )
