import { isPointer, type Pointer } from '../../core/model/publication.ts'
import type { BlobStore, Etag } from '../../core/ports.ts'
import { registryKeys } from './keys.ts'
import { encodeJson, readJson } from './objects.ts'

export const readPointer = (store: BlobStore, registry: string) =>
  readJson(store, registryKeys(registry).pointer, isPointer)

/**
 * The one write that decides. `false`: somebody else was faster, or our own answer got lost on its way; who looks again
 * finds out which.
 */
export const swapPointer = async (
  store: BlobStore,
  registry: string,
  pointer: Pointer,
  etag: Etag | undefined,
): Promise<boolean> => {
  const expected = etag === undefined ? 'absent' : { etag }
  return (await store.write(registryKeys(registry).pointer, encodeJson(pointer), expected)).kind === 'written'
}
