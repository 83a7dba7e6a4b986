/** Weak comparison: a cache on the way may have made our tag weak, and both encodings have one content. */
export const isKnown = (header: string | null | undefined, etag: string): boolean => {
  if (header === null || header === undefined) return false
  return header.split(',').some((tag) => {
    const opaque = tag.trim().replace(/^W\//, '')
    return opaque === '*' || opaque.replace(/-gz"$/, '"') === `"${etag}"`
  })
}
