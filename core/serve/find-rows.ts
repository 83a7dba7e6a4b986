import { type Columns, nameOf, versionOf } from '../model/columns.ts'
import type { Layout } from './layout.ts'

/** The first row from `from` to before `to` whose name is not before `name`. */
const lowerBound = (columns: Columns, name: string, from: number, to: number): number => {
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
  for (let row = lowerBound(columns, name, from, to); row < to && nameOf(columns, row) === name; row++) rows.push(row)
  return rows
}

/** All active versions of a server, the latest first. */
export const findVersions = (columns: Columns, { runs }: Layout, name: string): readonly number[] => [
  ...rowsIn(columns, name, runs[0], runs[1]),
  ...rowsIn(columns, name, runs[1], runs[2]),
]

/** One active version of a server, or `latest`. */
export const findVersion = (columns: Columns, layout: Layout, name: string, version: string): number | undefined =>
  findVersions(columns, layout, name).find((row) => version === 'latest' || versionOf(columns, row) === version)
