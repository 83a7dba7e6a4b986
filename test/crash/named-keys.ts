import { gunzipSync } from 'node:zlib'
import type { BlobStore } from '../../core/ports.ts'

// What a store should hold, worked out anew from what is in it: the sweep is not asked what it thinks.

type Json = Readonly<Record<string, unknown>>
type PointerJson = {
  readonly sequence: number
  readonly history: readonly { readonly sequence: number; readonly publication: string; readonly state: string }[]
  readonly sources: Readonly<Record<string, { readonly hash: string }>>
}

const bytesOf = async (store: BlobStore, key: string): Promise<Uint8Array> => {
  const object = await store.read(key)
  if (object.kind !== 'found') throw new Error(`${key} is named and not there`)
  return object.bytes
}

const jsonOf = async <T = Json>(store: BlobStore, key: string): Promise<T> =>
  JSON.parse(new TextDecoder().decode(await bytesOf(store, key)))

/** A root and its pages; each must be there. */
const rootKeys = async (store: BlobStore, folder: string, digest: string): Promise<readonly string[]> => {
  const root: { readonly lists: Readonly<Record<string, readonly string[]>> } = JSON.parse(
    gunzipSync(await bytesOf(store, `${folder}/${digest}`)).toString('utf8'),
  )
  return [digest, ...Object.values(root.lists).flat()].map((each) => `${folder}/${each}`)
}

const publicationKeys = async (store: BlobStore, registry: string, publication: string): Promise<readonly string[]> => {
  const folder = `${registry}/publications/${publication}`
  const { runs } = await jsonOf<{ readonly runs: Readonly<Record<string, readonly { readonly digest: string }[]>> }>(
    store,
    `${folder}/manifest.json`,
  )
  const chunks = Object.values(runs).flatMap((run) => run.map(({ digest }) => `${registry}/chunks/${digest}`))
  return [...['manifest.json', 'columns', 'findings.json'].map((file) => `${folder}/${file}`), ...chunks]
}

export const readHistory = async (store: BlobStore, registry: string): Promise<PointerJson> =>
  jsonOf<PointerJson>(store, `${registry}/current.json`)

/** All keys that the histories of the registries name, and the few that are always there. */
export const namedKeys = async (
  store: BlobStore,
  registries: readonly string[],
  sources: readonly string[],
): Promise<readonly string[]> => {
  const keys = new Set(['index.json', 'retention.json', 'probe.json'])
  const hashes = new Map(sources.map((source) => [source, new Set<string>()]))
  for (const registry of registries) {
    const pointer = await readHistory(store, registry)
    for (const key of ['current.json', 'report.json']) keys.add(`${registry}/${key}`)
    for (const { publication, state } of pointer.history) {
      for (const key of await publicationKeys(store, registry, publication)) keys.add(key)
      for (const key of await rootKeys(store, `${registry}/states`, state)) keys.add(key)
    }
    for (const [source, { hash }] of Object.entries(pointer.sources)) hashes.get(source)?.add(hash)
  }
  for (const [source, used] of hashes) {
    const state = await jsonOf<{ readonly good?: { readonly hash: string } }>(store, `sources/${source}/state.json`)
    if (state.good !== undefined) used.add(state.good.hash)
    keys.add(`sources/${source}/state.json`)
    for (const hash of used) for (const key of await rootKeys(store, `sources/${source}`, hash)) keys.add(key)
  }
  return [...keys].sort()
}
