/** What is cut: its key decides where, its size when. */
export type Piece = { readonly key: string; readonly bytes: number }

const MOST = 1024 * 1024
const USUAL = 256 * 1024
const LEAST = 32 * 1024

/** FNV-1a: spreads keys evenly, the same everywhere. */
const spread = (key: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193)
  return (hash >>> 0) / 2 ** 32
}

/**
 * Where to cut a run into chunks: before a piece whose own key says so, never by counting. So an entry that changes,
 * comes or goes moves the cuts beside it and no others, and all other chunks are the ones that are stored already.
 */
export const cut = <T extends Piece>(pieces: readonly T[]): readonly (readonly T[])[] => {
  const chunks: T[][] = []
  let size = 0
  for (const piece of pieces) {
    const isCut = size >= LEAST && spread(piece.key) < piece.bytes / USUAL
    const last = chunks.at(-1)
    if (last === undefined || isCut || size + piece.bytes > MOST) {
      chunks.push([piece])
      size = 0
    } else last.push(piece)
    size += piece.bytes
  }
  return chunks
}
