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

/** Asks once, before the first write that depends on it. */
export const withProbe = (store: BlobStore): BlobStore => {
  let asked: Promise<void> | undefined
  return {
    ...store,
    write: async (key, bytes, expected) => {
      if (expected !== 'any') {
        asked ??= probe(store)
        await asked
      }
      return store.write(key, bytes, expected)
    },
  }
}
