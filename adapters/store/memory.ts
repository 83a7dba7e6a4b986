import type { BlobStore, StoredObject } from '../../core/ports.ts'
import { keyBelow, keyOf, startOf } from './key.ts'

export type MemoryObjects = Map<string, StoredObject>

/** Objects as long as the process lives. Stores over the same map, each below its prefix, are one bucket. */
export const openMemoryStore = (objects: MemoryObjects = new Map(), prefix = ''): BlobStore => {
  // Nothing here waits between looking and writing, so every answer is one step.
  return {
    async read(key, known) {
      const object = objects.get(keyBelow(prefix, key))
      if (object === undefined) return { kind: 'absent' }
      return object.etag === known ? { kind: 'unchanged' } : object
    },
    async write(key, bytes, expected) {
      const name = keyBelow(prefix, key)
      const etag = objects.get(name)?.etag
      if (expected === 'absent' ? etag !== undefined : expected !== 'any' && expected.etag !== etag)
        return { kind: 'conflict' }
      // Copied: who wrote may go on using its buffer, as with every other store.
      const written: StoredObject = { kind: 'found', bytes: bytes.slice(), etag: crypto.randomUUID() }
      objects.set(name, written)
      return { kind: 'written', etag: written.etag }
    },
    async list(folder) {
      const start = startOf(prefix, folder)
      return [...objects.keys()].filter((name) => name.startsWith(start)).map((name) => keyOf(prefix, name))
    },
    async delete(key) {
      objects.delete(keyBelow(prefix, key))
    },
  }
}
