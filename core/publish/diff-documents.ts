import { canonicalJson } from '../model/canonical-json.ts'
import { isMap } from '../model/is-map.ts'
import { compareText } from '../model/order.ts'

/** A listed server of a document, its server.json as it is stored. */
export type DiffEntry = { readonly name: string; readonly version: string; readonly server: unknown }

export type FieldChange = { readonly field: string; readonly before?: unknown; readonly after?: unknown }
export type EntryChange = {
  readonly name: string
  readonly version: string
  readonly fields: readonly FieldChange[]
}

export type DocumentDiff = {
  readonly added: readonly DiffEntry[]
  readonly removed: readonly DiffEntry[]
  readonly changed: readonly EntryChange[]
}

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b)

/** A field that came, went or is another, by its path; lists are compared item by item. */
const diffFields = (before: unknown, after: unknown, field = ''): readonly FieldChange[] => {
  if (before !== undefined && after !== undefined && isSame(before, after)) return []
  const parts = (value: unknown): ReadonlyMap<string, unknown> | undefined => {
    if (Array.isArray(value)) return new Map(value.map((item, index) => [`${field}[${index}]`, item]))
    if (!isMap(value)) return undefined
    return new Map(Object.entries(value).map(([key, item]) => [field === '' ? key : `${field}.${key}`, item]))
  }
  const [old, now] = [parts(before), parts(after)]
  if (old === undefined || now === undefined || Array.isArray(before) !== Array.isArray(after))
    return [{ field, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((path) => diffFields(old.get(path), now.get(path), path))
}

/** By name where a server has one version on both sides, so that a new version is a change; else by version too. */
const keysOf = (before: readonly DiffEntry[], after: readonly DiffEntry[]) => {
  const once = (entries: readonly DiffEntry[]): ReadonlySet<string> =>
    new Set([...Map.groupBy(entries, ({ name }) => name)].filter(([, of]) => of.length === 1).map(([name]) => name))
  const [old, now] = [once(before), once(after)]
  return ({ name, version }: DiffEntry): string => (old.has(name) && now.has(name) ? name : `${name} ${version}`)
}

export const diffDocuments = (before: readonly DiffEntry[], after: readonly DiffEntry[]): DocumentDiff => {
  const keyOf = keysOf(before, after)
  const old = new Map(before.map((entry) => [keyOf(entry), entry]))
  const now = new Map(after.map((entry) => [keyOf(entry), entry]))
  const byKey = (a: DiffEntry, b: DiffEntry): number => compareText(keyOf(a), keyOf(b))
  const changed = [...after].sort(byKey).flatMap((entry): readonly EntryChange[] => {
    const earlier = old.get(keyOf(entry))
    const fields = earlier === undefined ? [] : diffFields(earlier.server, entry.server)
    return fields.length === 0 ? [] : [{ name: entry.name, version: entry.version, fields }]
  })
  return {
    added: after.filter((entry) => !old.has(keyOf(entry))).sort(byKey),
    removed: before.filter((entry) => !now.has(keyOf(entry))).sort(byKey),
    changed,
  }
}
