import type { Bytes } from '../../core/model/bytes.ts'
import { type Columns, decodeColumns } from '../../core/model/columns.ts'
import type { BlobStore } from '../../core/ports.ts'
import { type Layout, layOut, type Slice } from '../../core/serve/layout.ts'
import type { ChunkCache } from './chunk-cache.ts'
import { registryKeys } from './keys.ts'
import { DamagedObject, readVerified } from './objects.ts'
import { readManifest } from './read-manifest.ts'

/** One publication, ready to be asked. Its chunks are read when they are needed. */
export type OpenPublication = {
  readonly registry: string
  readonly publication: string
  readonly document: string
  readonly columns: Columns
  readonly layout: Layout
  readonly read: (slice: Slice) => Promise<Bytes>
  /** The parts that could not be read as they should be. */
  readonly damaged: () => readonly Slice[]
}

/** Throws `DamagedObject` where something is missing or is not what its digest says. */
export const openPublication = async (
  store: BlobStore,
  cache: ChunkCache,
  registry: string,
  publication: string,
): Promise<OpenPublication> => {
  const keys = registryKeys(registry)
  const manifest = await readManifest(store, registry, publication)
  if (manifest === undefined) throw new DamagedObject(keys.manifest(publication), 'it is missing')
  const bytes = await readVerified(store, keys.columns(publication), manifest.columns, true)
  const columns = bytes && decodeColumns(bytes)
  const layout = columns && layOut(manifest, columns)
  if (columns === undefined || layout === undefined)
    throw new DamagedObject(
      keys.columns(publication),
      bytes === undefined ? 'it is missing' : 'it is no table of entries',
    )
  const damaged = new Map<string, Slice>()
  const readChunk = async (digest: string): Promise<Bytes> => {
    const found = await readVerified(store, keys.chunk(digest), digest, false)
    if (found === undefined) throw new DamagedObject(keys.chunk(digest), 'it is missing')
    return found
  }
  return {
    registry,
    publication,
    document: manifest.document,
    columns,
    layout,
    read: async (slice) => {
      const { digest } = slice.chunk
      try {
        const whole = await cache.get(digest, () => readChunk(digest))
        return whole.subarray(slice.from, slice.to)
      } catch (error) {
        // Also where somebody else's request was the one that read it.
        if (error instanceof DamagedObject) damaged.set(digest, slice)
        throw error
      }
    },
    damaged: () => [...damaged.values()],
  }
}
