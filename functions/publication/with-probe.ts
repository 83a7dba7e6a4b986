import { OperationError } from '../../core/model/operation-error.ts'
import type { BlobStore } from '../../core/ports.ts'
import { PROBE_KEY } from './keys.ts'
import { encodeJson } from './objects.ts'

/** Some servers take `If-Match` and `If-None-Match` and ignore them: there two syncs would overwrite each other. */
const probe = async (store: BlobStore): Promise<void> => {
  const bytes = encodeJson({ waypost: 'Is a condition on a write honoured here?' })
  await store.write(PROBE_KEY, bytes, 'absent')
  const again = await store.write(PROBE_KEY, bytes, 'absent')
  const replaced = await store.write(PROBE_KEY, bytes, { etag: '"00000000000000000000000000000000"' })
  if (again.kind === 'written' || replaced.kind === 'written')
    throw new OperationError(
      'StoreUnconditional',
      'The store ignores conditions on writes, so two syncs could overwrite each other. Use one that honours If-None-Match and If-Match; docs/stores.md names some.',
    )
}

const probed = new WeakMap<BlobStore, Promise<void>>()

/** Asks once in the life of a store, before the first write that depends on it. A probe that failed is asked again. */
export const withProbe = (store: BlobStore): BlobStore => ({
  ...store,
  write: async (key, bytes, expected) => {
    if (expected !== 'any') {
      const asked = probed.get(store) ?? probe(store)
      probed.set(store, asked)
      try {
        await asked
      } catch (error) {
        probed.delete(store)
        throw error
      }
    }
    return store.write(key, bytes, expected)
  },
})
