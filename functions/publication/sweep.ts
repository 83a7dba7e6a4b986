import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { isMap } from '../../core/model/is-map.ts'
import { type Pointer, RUNS, type Time, timeOf } from '../../core/model/publication.ts'
import { isSourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { type Marks, planSweep } from '../../core/publish/retention.ts'
import { RETENTION_KEY, registryKeys, sourceKeys } from './keys.ts'
import { DamagedObject, encodeJson, inParallel, readJson } from './objects.ts'
import { namedBy } from './paged.ts'
import { readManifest, readPointer } from './publish-registry.ts'

/** What the last sweep saw: with the same objects and pointers there is nothing to sweep. */
type Retention = { readonly at: Time; readonly seen: string; readonly unnamed: Marks }

const isRetention = (value: unknown): value is Retention =>
  isMap(value) && typeof value.at === 'string' && typeof value.seen === 'string' && isMap(value.unnamed)

/** A sweep reads the manifest of everything that is kept: a long history is swept once an hour, not by every sync. */
const LONG_HISTORY = 50
const SELDOM = 3_600_000

export type Swept = { readonly removed: number; readonly missing: readonly string[] }

type Named = { readonly named: ReadonlySet<string>; readonly pointers: ReadonlyMap<string, Pointer> }

const publicationNames = async (
  store: BlobStore,
  registry: string,
  publication: string,
): Promise<readonly string[]> => {
  const keys = registryKeys(registry)
  const manifest = await readManifest(store, registry, publication)
  // Without its manifest nobody knows which chunks it needs, so none may go.
  if (manifest === undefined) throw new DamagedObject(keys.manifest(publication), 'it is missing')
  const own = [keys.manifest(publication), keys.columns(publication), keys.findings(publication)]
  return [...own, ...RUNS.flatMap((run) => manifest.runs[run].map(({ digest }) => keys.chunk(digest)))]
}

const rootNames = async (
  store: BlobStore,
  keyOf: (digest: string) => string,
  digest: string,
): Promise<readonly string[]> => {
  const named = await namedBy(store, keyOf, digest)
  if (named === undefined) throw new DamagedObject(keyOf(digest), 'it is missing')
  return named
}

/** Everything that the pointers and the states of the sources name, directly or not. */
const findNamed = async (
  store: BlobStore,
  pointers: ReadonlyMap<string, Pointer>,
  sources: readonly string[],
): Promise<ReadonlySet<string>> => {
  const named = new Set<string>()
  const add = (keys: readonly string[]): void => {
    for (const key of keys) named.add(key)
  }
  for (const [registry, { history }] of pointers) {
    const keys = registryKeys(registry)
    add([keys.pointer, keys.report])
    const publications = [...new Set(history.map(({ publication }) => publication))]
    await inParallel(publications, async (each) => add(await publicationNames(store, registry, each)))
    const states = [...new Set(history.map(({ state }) => state))]
    await inParallel(states, async (state) => add(await rootNames(store, keys.state, state)))
  }
  for (const source of sources) {
    const keys = sourceKeys(source)
    const state = await readJson(store, keys.state, isSourceState)
    const used = [...pointers.values()].flatMap(({ sources }) => sources[source]?.hash ?? [])
    const hashes = new Set([...used, ...(state?.value.good === undefined ? [] : [state.value.good.hash])])
    add([keys.state])
    // A result that an older pointer used may be gone; one that is there is kept while it is named.
    for (const hash of hashes) add((await namedBy(store, keys.result, hash)) ?? [])
  }
  return named
}

const readPointers = async (store: BlobStore, registries: readonly string[]): Promise<Named['pointers']> => {
  const found = await inParallel(
    registries,
    async (registry) => [registry, await readPointer(store, registry)] as const,
  )
  return new Map(found.flatMap(([registry, pointer]) => (pointer === undefined ? [] : [[registry, pointer.value]])))
}

/**
 * Removes what no publication that is kept needs. What nobody names is only marked at first: it may belong to a sync that
 * is under way. Says what is named and not there.
 */
export const sweep = async (
  store: BlobStore,
  registries: readonly string[],
  sources: readonly string[],
  now: number,
): Promise<Swept> => {
  const before = await readJson(store, RETENTION_KEY, isRetention)
  const folders = [
    ...registries.map((name) => registryKeys(name).folder),
    ...sources.map((name) => sourceKeys(name).folder),
  ]
  const stored = (await inParallel(folders, (folder) => store.list(folder))).flat().sort()
  const pointers = await readPointers(store, registries)
  const sequences = [...pointers].map(([registry, { sequence }]): readonly [string, number] => [registry, sequence])
  const seen = digestOf(canonicalJson([stored, sequences]))
  const marks = before?.value.unnamed ?? {}
  const length = [...pointers.values()].reduce((sum, { history }) => sum + history.length, 0)
  const isRecent = before !== undefined && before.value.at > timeOf(now - SELDOM)
  const isSeen = before?.value.seen === seen && Object.keys(marks).length === 0
  if (isSeen || (isRecent && length > LONG_HISTORY)) return { removed: 0, missing: [] }

  const named = await findNamed(store, pointers, sources)
  const { remove, marks: unnamed } = planSweep(stored, named, marks, now)
  await inParallel(remove, (key) => store.delete(key))
  const there = new Set(stored)
  const missing = [...named].filter((key) => !there.has(key) && !key.endsWith('/report.json')).sort()
  const retention: Retention = { at: timeOf(now), seen: remove.length + missing.length === 0 ? seen : '', unnamed }
  await store.write(RETENTION_KEY, encodeJson(retention), 'any')
  return { removed: remove.length, missing }
}
