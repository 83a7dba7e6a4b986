import { canonicalJson } from '../../core/model/canonical-json.ts'
import { isMap } from '../../core/model/is-map.ts'
import { isEntryState, type RegistryState } from '../../core/model/state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { registryKeys } from './keys.ts'
import { DamagedObject } from './objects.ts'
import { type Paged, readPaged, toPaged } from './paged.ts'

export const toStateObject = ({ at, entries }: RegistryState): Paged =>
  toPaged(
    { at },
    { entries: entries.map((entry) => ({ key: `${entry.name} ${entry.version}`, json: canonicalJson(entry) })) },
  )

/** The memory of a registry. That it is missing is damage: to start without it would give away names and times. */
export const readState = async (store: BlobStore, registry: string, digest: string): Promise<RegistryState> => {
  const key = registryKeys(registry).state
  const paged = await readPaged(store, key, digest)
  if (paged === undefined) throw new DamagedObject(key(digest), 'it is missing')
  const entries = paged.list('entries')
  if (!isMap(paged.head) || typeof paged.head.at !== 'number' || !entries.every(isEntryState))
    throw new DamagedObject(key(digest), 'it has another shape than we write')
  return { at: paged.head.at, entries }
}
