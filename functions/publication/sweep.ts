import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { isMap } from '../../core/model/is-map.ts'
import { type Pointer, type Time, timeOf } from '../../core/model/publication.ts'
import { isSourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { type Marks, planSweep } from '../../core/publish/plan-sweep.ts'
import { inParallel } from './in-parallel.ts'
import { RETENTION_KEY, registryKeys, sourceKeys } from './keys.ts'
import { DamagedObject, encodeJson, readReplaceable } from './objects.ts'
import { namedBy } from './paged.ts'
import { readPointer } from './pointer-object.ts'
import { chunksOf, readManifest } from './read-manifest.ts'

/** What the last sweep saw: with the same objects and pointers there is nothing to sweep. */
type Retention = { readonly at: Time; readonly seen: string; readonly unnamed: Marks }

const isRetention = (value: unknown): value is Retention =>
  isMap(value) &&
  typeof value.at === 'string' &&
  typeof value.seen === 'string' &&
  isMap(value.unnamed) &&
  Object.values(value.unnamed).every((since) => typeof since === 'string')

/** A sweep lists everything and reads the manifest of all that is kept: a long history is swept once an hour. */
const LONG_HISTORY = 50
const SELDOM = 3_600_000
/** What nobody has written to is swept less often than it is looked at. */
const OFTEN = 600_000

type Pointers = ReadonlyMap<string, Pointer>

/** All that is needed, and the roots of it that cannot be read: without them nobody knows what else is. */
type Named = { readonly keys: Set<string>; readonly lost: Set<string> }

const readPointers = async (store: BlobStore, registries: readonly string[]): Promise<Pointers> => {
  const found = await inParallel(
    registries,
    async (registry) => [registry, await readPointer(store, registry)] as const,
  )
  return new Map(found.flatMap(([registry, pointer]) => (pointer === undefined ? [] : [[registry, pointer.value]])))
}

/** Adds what a root names, or that the root itself is lost. */
const follow = async (
  named: Named,
  root: string,
  read: () => Promise<readonly string[] | undefined>,
): Promise<void> => {
  named.keys.add(root)
  try {
    const keys = await read()
    if (keys === undefined) named.lost.add(root)
    for (const key of keys ?? []) named.keys.add(key)
  } catch (error) {
    if (!(error instanceof DamagedObject)) throw error
    named.lost.add(root)
  }
}

const followPublication = (named: Named, store: BlobStore, registry: string, publication: string): Promise<void> => {
  const keys = registryKeys(registry)
  named.keys.add(keys.columns(publication)).add(keys.findings(publication))
  return follow(named, keys.manifest(publication), async () => {
    const manifest = await readManifest(store, registry, publication)
    return manifest && chunksOf(manifest).map(keys.chunk)
  })
}

/** Everything that the pointers and the states of the sources name, directly or not. */
const findNamed = async (store: BlobStore, pointers: Pointers, sources: readonly string[]): Promise<Named> => {
  const named: Named = { keys: new Set(), lost: new Set() }
  for (const [registry, { history }] of pointers) {
    const keys = registryKeys(registry)
    named.keys.add(keys.pointer).add(keys.report)
    await inParallel([...new Set(history.map(({ publication }) => publication))], (publication) =>
      followPublication(named, store, registry, publication),
    )
    await inParallel([...new Set(history.map(({ state }) => state))], (state) =>
      follow(named, keys.state(state), () => namedBy(store, keys.state, state)),
    )
  }
  for (const source of sources) {
    const keys = sourceKeys(source)
    named.keys.add(keys.state)
    const good = (await readReplaceable(store, keys.state, isSourceState))?.value?.good
    if (good !== undefined) await follow(named, keys.result(good.hash), () => namedBy(store, keys.result, good.hash))
    // An older result that a pointer used may be gone by now; while it is there, it is kept.
    for (const { sources: uses } of pointers.values()) {
      const { hash } = uses[source] ?? {}
      if (hash !== undefined && hash !== good?.hash)
        for (const key of (await namedBy(store, keys.result, hash).catch(absentIfDamaged)) ?? []) named.keys.add(key)
    }
  }
  return named
}

const absentIfDamaged = (error: unknown): undefined => {
  if (!(error instanceof DamagedObject)) throw error
  return undefined
}

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
): Promise<readonly string[]> => {
  const before = (await readReplaceable(store, RETENTION_KEY, isRetention))?.value
  const length = [...published.values()].reduce((sum, { history }) => sum + history.length, 0)
  const pause = length > LONG_HISTORY ? SELDOM : hasWritten ? 0 : OFTEN
  if (before !== undefined && before.at > timeOf(now - pause)) return []

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
  if (before?.seen === seen && Object.keys(marks).length === 0) return []

  const named = await findNamed(store, pointers, sources)
  const there = new Set(stored)
  const missing = [...new Set([...[...named.keys].filter((key) => !there.has(key)), ...named.lost])]
    .filter((key) => !key.endsWith('/report.json'))
    .sort()
  const { remove, marks: unnamed } = planSweep(stored, named.keys, marks, now)
  if (remove.length > 0 && named.lost.size === 0) {
    const again = await findNamed(store, await readPointers(store, registries), sources)
    await inParallel(again.lost.size > 0 ? [] : remove.filter((key) => !again.keys.has(key)), (key) =>
      store.delete(key),
    )
  }
  const retention: Retention = { at: timeOf(now), seen: remove.length + missing.length === 0 ? seen : '', unnamed }
  await store.write(RETENTION_KEY, encodeJson(retention), 'any')
  return missing
}
