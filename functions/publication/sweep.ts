import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { isMap } from '../../core/model/is-map.ts'
import { type Pointer, type Time, timeOf } from '../../core/model/publication.ts'
import { isSourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { type Marks, planSweep } from '../../core/publish/plan-sweep.ts'
import { findDamage } from './find-damage.ts'
import { RETENTION_KEY, registryKeys, sourceKeys } from './keys.ts'
import { absentIfDamaged, encodeJson, readReplaceable } from './objects.ts'
import { namedBy } from './paged.ts'
import { readPointer } from './pointer-object.ts'
import { chunksOf, readManifest } from './read-manifest.ts'

/** What the last sweep saw: with the same objects and pointers there is nothing to sweep. */
type Retention = {
  readonly at: Time
  readonly seen: string
  readonly unnamed: Marks
  /** When every byte that is served was last looked at. */
  readonly verifiedAt: Time
}

const isRetention = (value: unknown): value is Retention =>
  isMap(value) &&
  typeof value.at === 'string' &&
  typeof value.seen === 'string' &&
  typeof value.verifiedAt === 'string' &&
  isMap(value.unnamed) &&
  Object.values(value.unnamed).every((since) => typeof since === 'string')

/** A sweep lists everything and reads the manifest of all that is kept: a long history is swept once an hour. */
const LONG_HISTORY = 50
const SELDOM = 3_600_000
/** What nobody has written to is swept less often than it is looked at. */
const OFTEN = 600_000

type Pointers = ReadonlyMap<string, Pointer>

/** All that is kept, what of it is current, and the roots of that which cannot be read: nobody knows what they name. */
type Named = { readonly keys: Set<string>; readonly current: Set<string>; readonly lost: Set<string> }

const readPointers = async (store: BlobStore, registries: readonly string[]): Promise<Pointers> => {
  const found = await inParallel(
    registries,
    async (registry) => [registry, await readPointer(store, registry)] as const,
  )
  return new Map(found.flatMap(([registry, pointer]) => (pointer === undefined ? [] : [[registry, pointer.value]])))
}

/** Adds a root and what it names. One that is superseded and lost is of no use to anyone, so it keeps nothing. */
const follow = async (
  named: Named,
  isCurrent: boolean,
  root: string,
  beside: readonly string[],
  read: () => Promise<readonly string[] | undefined>,
): Promise<void> => {
  const keys = await read().catch(absentIfDamaged)
  if (keys === undefined && isCurrent) named.lost.add(root)
  for (const key of [root, ...beside, ...(keys ?? [])]) {
    named.keys.add(key)
    if (isCurrent) named.current.add(key)
  }
}

/** Everything that the pointers and the states of the sources name, directly or not. */
const findNamed = async (store: BlobStore, pointers: Pointers, sources: readonly string[]): Promise<Named> => {
  const named: Named = { keys: new Set(), current: new Set(), lost: new Set() }
  for (const [registry, { history, ...pointer }] of pointers) {
    const keys = registryKeys(registry)
    named.keys.add(keys.pointer).add(keys.report)
    await inParallel([...new Set(history.map(({ publication }) => publication))], (publication) => {
      const beside = [keys.columns(publication), keys.findings(publication)]
      return follow(named, publication === pointer.publication, keys.manifest(publication), beside, async () => {
        const manifest = await readManifest(store, registry, publication)
        return manifest && chunksOf(manifest).map(keys.chunk)
      })
    })
    await inParallel([...new Set(history.map(({ state }) => state))], (state) =>
      follow(named, state === pointer.state, keys.state(state), [], () => namedBy(store, keys.state, state)),
    )
  }
  for (const source of sources) {
    const keys = sourceKeys(source)
    named.keys.add(keys.state)
    const good = (await readReplaceable(store, keys.state, isSourceState))?.value?.good?.hash
    const used = [...pointers.values()].flatMap(({ sources: uses }) => uses[source]?.hash ?? [])
    for (const hash of new Set([...used, ...(good === undefined ? [] : [good])]))
      await follow(named, hash === good, keys.result(hash), [], () => namedBy(store, keys.result, hash))
  }
  return named
}

const BATCH = 50

/**
 * Deletes what nobody names, a few at a time. Who names one of them in that moment would lose it, so it is read before,
 * and brought back where that happened.
 */
const removeUnnamed = async (
  store: BlobStore,
  remove: readonly string[],
  readAll: () => Promise<Pointers>,
  sources: readonly string[],
): Promise<void> => {
  for (let from = 0; from < remove.length; from += BATCH) {
    const before = await findNamed(store, await readAll(), sources)
    const batch = remove.slice(from, from + BATCH).filter((key) => !before.keys.has(key))
    if (before.lost.size > 0) return
    const removed = await inParallel(batch, async (key) => {
      const object = await store.read(key)
      await store.delete(key)
      return { key, object }
    })
    const after = await findNamed(store, await readAll(), sources)
    for (const { key, object } of removed)
      if (after.keys.has(key) && object.kind === 'found') await store.write(key, object.bytes, 'any')
  }
}

/** What is kept and not there; `isCurrent` where it is served, or where a sync would need it. */
export type Missing = { readonly key: string; readonly isCurrent: boolean }

/**
 * Removes what nothing that is kept needs. What nobody names is only marked at first: it may belong to a sync that is
 * under way; and who is about to be removed may have been named again meanwhile. Gives what is needed and not there.
 */
export const sweep = async (
  store: BlobStore,
  published: Pointers,
  sources: readonly string[],
  hasWritten: boolean,
  now: number,
): Promise<readonly Missing[]> => {
  const before = (await readReplaceable(store, RETENTION_KEY, isRetention))?.value
  const length = [...published.values()].reduce((sum, { history }) => sum + history.length, 0)
  const pause = length > LONG_HISTORY ? SELDOM : hasWritten ? 0 : OFTEN
  const isThorough = before !== undefined && before.verifiedAt <= timeOf(now - SELDOM)
  const damaged = await inParallel([...published], ([registry, pointer]) =>
    findDamage(store, registry, pointer, isThorough),
  )
  const atOnce = damaged.flat().map((key): Missing => ({ key, isCurrent: true }))
  if (before !== undefined && !isThorough && before.at > timeOf(now - pause)) return atOnce

  const registries = [...published.keys()]
  const folders = [
    ...registries.map((name) => registryKeys(name).folder),
    ...sources.map((name) => sourceKeys(name).folder),
  ]
  const stored = (await inParallel(folders, (folder) => store.list(folder))).flat().sort()
  const pointers = await readPointers(store, registries)
  const sequences = [...pointers].map(([registry, { sequence }]): readonly [string, number] => [registry, sequence])
  const seen = digestOf(canonicalJson([stored, sequences]))
  const marks = before?.unnamed ?? {}
  if (!isThorough && before?.seen === seen && Object.keys(marks).length === 0) return atOnce

  const named = await findNamed(store, pointers, sources)
  const there = new Set(stored)
  const isMissing = (key: string): boolean => !there.has(key) || named.lost.has(key)
  const missing = [
    ...[...named.keys].filter((key) => isMissing(key) && !key.endsWith('/report.json')),
    ...damaged.flat(),
  ].map((key): Missing => ({ key, isCurrent: named.current.has(key) }))
  const { remove, marks: unnamed } = planSweep(stored, named.keys, marks, now)
  if (named.lost.size === 0) await removeUnnamed(store, remove, () => readPointers(store, registries), sources)
  const retention: Retention = {
    at: timeOf(now),
    seen: remove.length + missing.length === 0 ? seen : '',
    unnamed,
    verifiedAt: isThorough ? timeOf(now) : (before?.verifiedAt ?? timeOf(now)),
  }
  await store.write(RETENTION_KEY, encodeJson(retention), 'any')
  return missing
}
