import type { BlobStore } from '../../core/ports.ts'

/** Named by the digest of its content: whoever writes it again writes the same. */
const IMMUTABLE = /\/[0-9a-f]{64}$/

/** Within one sync, what was stored under its digest is stored: a round that is repeated does not send it again. */
export const onceStored = (store: BlobStore): BlobStore => {
  const stored = new Map<string, Promise<Awaited<ReturnType<BlobStore['write']>>>>()
  return {
    ...store,
    write: async (key, bytes, expected) => {
      if (expected !== 'any' || !IMMUTABLE.test(key)) return store.write(key, bytes, expected)
      const known = stored.get(key) ?? store.write(key, bytes, expected)
      stored.set(key, known)
      try {
        return await known
      } catch (error) {
        stored.delete(key)
        throw error
      }
    },
    delete: async (key) => {
      stored.delete(key)
      return store.delete(key)
    },
  }
}
