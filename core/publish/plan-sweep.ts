import { type Time, timeOf } from '../model/publication.ts'

/** Longer than any sync: what nobody names yet may belong to one that is under way. */
const PATIENCE = 3_600_000

/** Objects that no pointer names, and since when that is known. */
export type Marks = Readonly<Record<string, Time>>

const HASH = '[0-9a-f]{64}'
/** What a sync writes and may leave behind. Whatever else lies in the store is somebody else's. */
const OURS = new RegExp(
  `^([a-z0-9-]+/(publications/\\d+-${HASH}/(manifest\\.json|columns|findings\\.json)|chunks/${HASH}|states/${HASH})|sources/[a-z0-9-]+/${HASH})$`,
)

/** What nobody names is marked when it is first seen, and deleted when it is still unnamed an hour later. */
export const planSweep = (
  stored: readonly string[],
  named: ReadonlySet<string>,
  before: Marks,
  now: number,
): { readonly remove: readonly string[]; readonly marks: Marks } => {
  const longAgo = timeOf(now - PATIENCE)
  const unnamed = stored.filter((key) => !named.has(key) && OURS.test(key)).sort()
  const sinceOf = (key: string): Time => (Object.hasOwn(before, key) ? before[key] : undefined) ?? timeOf(now)
  return {
    remove: unnamed.filter((key) => sinceOf(key) <= longAgo),
    marks: Object.fromEntries(unnamed.filter((key) => sinceOf(key) > longAgo).map((key) => [key, sinceOf(key)])),
  }
}
