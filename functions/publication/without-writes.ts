import type { BlobStore, StoredObject } from '../../core/ports.ts'

/** Reads for real, and only pretends to write: for a sync that shows what it would do. */
export const withoutWrites = (store: BlobStore): BlobStore => {
  const pretended = new Map<string, StoredObject>()
  let writes = 0
  const read: BlobStore['read'] = async (key, known) => {
    const object = pretended.get(key)
    if (object === undefined) return store.read(key, known)
    return object.etag === known ? { kind: 'unchanged' } : object
  }
  return {
    read,
    write: async (key, bytes, expected) => {
      const found = expected === 'any' ? undefined : await read(key)
      const etag = found?.kind === 'found' ? found.etag : undefined
      if (expected !== 'any' && etag !== (expected === 'absent' ? undefined : expected.etag))
        return { kind: 'conflict' }
      const written: StoredObject = { kind: 'found', bytes, etag: `pretended ${writes++}` }
      pretended.set(key, written)
      return { kind: 'written', etag: written.etag }
    },
    list: async (folder) => [
      ...new Set([
        ...(await store.list(folder)),
        ...[...pretended.keys()].filter((key) => key.startsWith(`${folder}/`)),
      ]),
    ],
    delete: async () => {},
  }
}
