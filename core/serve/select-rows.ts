import { type Columns, isLatest, nameOf, versionOf } from '../model/columns.ts'
import { compareText } from '../model/order.ts'
import { seekName } from './find-rows.ts'
import type { Layout } from './layout.ts'

/** Which entries a list has. */
export type ListQuery = {
  /** Lower-case words, each of which must be in the name, the title or the description. */
  readonly words: readonly string[]
  /** `latest`, one version, or all of them. */
  readonly version: string | undefined
  /** In milliseconds; what changed after it. */
  readonly updatedSince: number | undefined
  readonly includesDeleted: boolean
}

/** Where a page begins: after this entry. Where a name has one entry at most, the name alone says it. */
export type Position = { readonly name: string; readonly version: string }

export type Page = { readonly rows: readonly number[]; readonly next: Position | undefined }

const lowered = new WeakMap<Columns, string>()

/** All names in lower case, made once. They are ASCII, so their places stay. */
const lowerNames = (columns: Columns): string => {
  const known = lowered.get(columns) ?? columns.text.slice(0, columns.ends[columns.count - 1] ?? 0).toLowerCase()
  lowered.set(columns, known)
  return known
}

/** Marks the rows in which a word stands, by looking through all their texts at once. */
const markWord = (columns: Columns, word: string, marks: Uint8Array): void => {
  const { count, text, ends } = columns
  const mark = (block: number, within: string, offset: number): void => {
    let row = 0
    for (let at = within.indexOf(word); at !== -1; ) {
      while (row < count && (ends[block + row] ?? 0) <= at + offset) row++
      const end = (ends[block + row] ?? 0) - offset
      // A match that begins in one name may end in the next.
      if (at + word.length <= end) {
        marks[row] = 1
        at = within.indexOf(word, end)
      } else at = within.indexOf(word, at + 1)
    }
  }
  const searchFrom = ends[2 * count - 1] ?? 0
  mark(0, lowerNames(columns), 0)
  mark(2 * count, text.slice(searchFrom), searchFrom)
}

/** The rows that a query selects where that is not a whole run, as marks. */
const markSelected = (columns: Columns, query: ListQuery): Uint8Array | undefined => {
  const { words, version, updatedSince } = query
  const isExact = version !== undefined && version !== 'latest'
  if (words.length === 0 && updatedSince === undefined && !isExact) return undefined
  const selected = new Uint8Array(columns.count).fill(1)
  for (const word of words) {
    const marks = new Uint8Array(columns.count)
    markWord(columns, word, marks)
    let isAny = 0
    for (let row = 0; row < columns.count; row++) {
      selected[row] = (selected[row] ?? 0) & (marks[row] ?? 0)
      isAny |= selected[row] ?? 0
    }
    if (isAny === 0) return selected
  }
  for (let row = 0; row < columns.count; row++) {
    if (updatedSince !== undefined && !((columns.updatedAt[row] ?? 0) > updatedSince)) selected[row] = 0
    if (isExact && selected[row] === 1 && versionOf(columns, row) !== version) selected[row] = 0
  }
  return selected
}

/**
 * One page of a list, by name, then version as text: an order that no publication changes, so that a walk across two of
 * them meets every entry of both once. The runs are merged name by name.
 */
export const selectPage = (
  columns: Columns,
  { runs }: Layout,
  query: ListQuery,
  after: Position | undefined,
  limit: number,
): Page => {
  const selected = markSelected(columns, query)
  const onlyLatest = query.version === 'latest'
  const isIn = (row: number): boolean =>
    (selected === undefined || selected[row] === 1) && (!onlyLatest || isLatest(columns, row))
  const wanted = [0, ...(onlyLatest ? [] : [1]), ...(query.includesDeleted ? [2] : [])]
  const cursors = wanted.map((run) => {
    const [from, to] = [runs[run] ?? 0, runs[run + 1] ?? 0]
    return { row: after === undefined ? from : seekName(columns, after.name, from, to), to }
  })
  const rows: number[] = []
  let last: number | undefined
  for (;;) {
    for (const cursor of cursors) while (cursor.row < cursor.to && !isIn(cursor.row)) cursor.row++
    const names = cursors.filter(({ row, to }) => row < to).map(({ row }) => nameOf(columns, row))
    const name = names.reduce<string | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined)
    if (name === undefined) return { rows, next: undefined }
    const group: number[] = []
    for (const cursor of cursors)
      for (; cursor.row < cursor.to && nameOf(columns, cursor.row) === name; cursor.row++)
        if (isIn(cursor.row)) group.push(cursor.row)
    group.sort((a, b) => compareText(versionOf(columns, a), versionOf(columns, b)))
    for (const row of group) {
      if (after?.name === name && (query.version !== undefined || versionOf(columns, row) <= after.version)) continue
      if (rows.length === limit && last !== undefined)
        return { rows, next: { name: nameOf(columns, last), version: versionOf(columns, last) } }
      rows.push(row)
      last = row
    }
  }
}

/** The words of a search: literal, in lower case, each once. */
export const wordsOf = (search: string): readonly string[] => [
  ...new Set(
    search
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== ''),
  ),
]
