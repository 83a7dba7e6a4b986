import { inParallel } from '../../core/model/in-parallel.ts'
import type { Pointer } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { registryKeys } from './keys.ts'
import { absentIfDamaged, readVerified } from './objects.ts'
import { chunksOf, readManifest } from './read-manifest.ts'

/**
 * What is served now and is not in the store as it should be: missing, or, where every byte is looked at, not what its
 * digest says. What was damaged would otherwise be found by readers, and stay so as long as nothing changes.
 */
export const findDamage = async (
  store: BlobStore,
  registry: string,
  { publication }: Pointer,
  isThorough: boolean,
): Promise<readonly string[]> => {
  const keys = registryKeys(registry)
  const manifest = await readManifest(store, registry, publication).catch(absentIfDamaged)
  if (manifest === undefined) return [keys.manifest(publication)]
  const [chunks, own] = await Promise.all([
    store.list(`${keys.folder}/chunks`),
    store.list(`${keys.folder}/publications/${publication}`),
  ])
  const there = new Set([...chunks, ...own])
  const needed = chunksOf(manifest).map((digest) => ({ key: keys.chunk(digest), digest, isCompressed: false }))
  const columns = { key: keys.columns(publication), digest: manifest.columns, isCompressed: true }
  const isWhole = async ({ key, digest, isCompressed }: typeof columns): Promise<boolean> =>
    there.has(key) &&
    (!isThorough || (await readVerified(store, key, digest, isCompressed).catch(absentIfDamaged)) !== undefined)
  const looked = await inParallel([columns, ...needed], async (each) => [each.key, await isWhole(each)] as const)
  return looked.filter(([, whole]) => !whole).map(([key]) => key)
}
