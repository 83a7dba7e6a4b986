/** Bytes that nobody else changes. */
export type Bytes = Uint8Array<ArrayBuffer>

export const joinBytes = (parts: readonly Bytes[]): Bytes => {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}
