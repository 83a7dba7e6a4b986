import type { BlobStore } from '../../core/ports.ts'

/** What was asked of the store. */
export type StoreCost = {
  readonly reads: number
  readonly writes: number
  readonly lists: number
  readonly deletes: number
  readonly bytesRead: number
  readonly bytesWritten: number
}

/** Counts what a sync costs. */
export const measured = (store: BlobStore): { readonly store: BlobStore; readonly cost: () => StoreCost } => {
  const cost = { reads: 0, writes: 0, lists: 0, deletes: 0, bytesRead: 0, bytesWritten: 0 }
  return {
    cost: () => ({ ...cost }),
    store: {
      read: async (key, known) => {
        cost.reads++
        const answer = await store.read(key, known)
        if (answer.kind === 'found') cost.bytesRead += answer.bytes.length
        return answer
      },
      write: (key, bytes, expected) => {
        cost.writes++
        cost.bytesWritten += bytes.length
        return store.write(key, bytes, expected)
      },
      list: (folder) => {
        cost.lists++
        return store.list(folder)
      },
      delete: (key) => {
        cost.deletes++
        return store.delete(key)
      },
    },
  }
}
