import type { Bytes } from '../../core/model/bytes.ts'

/** Chunks by their digest, the least recently used forgotten first. */
export type ChunkCache = {
  readonly get: (digest: string, read: () => Promise<Bytes>) => Promise<Bytes>
}

const MOST_BYTES = 32 * 1024 * 1024

export const createChunkCache = (mostBytes = MOST_BYTES): ChunkCache => {
  const chunks = new Map<string, Bytes>()
  const reading = new Map<string, Promise<Bytes>>()
  let size = 0
  const keep = (digest: string, bytes: Bytes): void => {
    if (bytes.length > mostBytes) return
    chunks.set(digest, bytes)
    size += bytes.length
    for (const [oldest, { length }] of chunks) {
      if (size <= mostBytes) break
      chunks.delete(oldest)
      size -= length
    }
  }
  return {
    get: async (digest, read) => {
      const known = chunks.get(digest)
      if (known !== undefined) {
        // A map keeps the order of insertion: the newest last.
        chunks.delete(digest)
        chunks.set(digest, known)
        return known
      }
      const running = reading.get(digest)
      if (running !== undefined) return running
      const fresh = read()
      reading.set(digest, fresh)
      try {
        const bytes = await fresh
        keep(digest, bytes)
        return bytes
      } finally {
        reading.delete(digest)
      }
    },
  }
}
