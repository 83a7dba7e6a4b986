/**
 * The tag by which a client has this content already. Weak comparison: a cache on the way may have made our tag weak, and
 * both encodings have one content. The form that it named is the form that it goes on with.
 */
export const findKnown = (header: string | null | undefined, etag: string): string | undefined => {
  if (header === null || header === undefined) return undefined
  for (const tag of header.split(',')) {
    const opaque = tag.trim().replace(/^W\//, '')
    if (opaque === '*' || opaque === `"${etag}"`) return `"${etag}"`
    if (opaque === `"${etag}-gz"`) return opaque
  }
  return undefined
}

/** `gzip;q=0` names it to refuse it. */
export const acceptsGzip = (header: string | null): boolean =>
  (header ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.split(';').map((part) => part.trim()))
    .some(([coding, ...weights]) => coding === 'gzip' && !weights.some((weight) => /^q=0(\.0*)?$/.test(weight)))
