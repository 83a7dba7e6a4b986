import { OperationError } from '../../core/model/operation-error.ts'
import type { BlobStore } from '../../core/ports.ts'
import { NEVER_KEY, PROBE_KEY } from './keys.ts'
import { encodeJson } from './objects.ts'

const unconditional = (): OperationError =>
  new OperationError(
    'StoreUnconditional',
    'The store ignores conditions on writes, so two syncs could overwrite each other. Use one that honours If-None-Match and If-Match; docs/stores.md names some.',
  )

/** Others may be probing at the same moment, and each of their writes may be the one that we lose to. */
const PATIENCE = 20

/**
 * Some servers take `If-Match` and `If-None-Match` and ignore them: there two syncs would overwrite each other. Others
 * refuse every `If-Match`: there nobody could ever publish twice. Asked so that any number may ask at the same time.
 */
export const probe = async (store: BlobStore): Promise<void> => {
  const bytes = encodeJson({ waypost: 'Is a condition on a write honoured here?' })
  await store.write(PROBE_KEY, bytes, 'absent')
  if ((await store.write(PROBE_KEY, bytes, 'absent')).kind === 'written') throw unconditional()
  for (let attempt = 0; attempt < PATIENCE; attempt++) {
    const found = await store.read(PROBE_KEY)
    if (found.kind !== 'found') break
    const replaced = await store.write(PROBE_KEY, bytes, { etag: found.etag })
    if (replaced.kind === 'conflict') continue
    const elsewhere = await store.write(NEVER_KEY, bytes, { etag: replaced.etag })
    if (elsewhere.kind === 'conflict') return
    await store.delete(NEVER_KEY)
    throw unconditional()
  }
  throw new OperationError(
    'StoreRefusesConditions',
    'The store refuses to replace an object that nobody else has changed. Use one that honours If-Match; docs/stores.md names some.',
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
