/** JSON with sorted keys and without absent values: equal values give equal bytes. */
export const canonicalJson = (value: unknown): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  // Added up, not joined: this runs over every field of every entry, and arrays of parts are most of its cost.
  let json = ''
  if (Array.isArray(value)) {
    for (const item of value) json += json === '' ? canonicalJson(item) : `,${canonicalJson(item)}`
    return `[${json}]`
  }
  // Without a comparison of its own, sort goes by code units.
  for (const key of Object.keys(value).sort()) {
    const field: unknown = Reflect.get(value, key)
    if (field === undefined) continue
    if (json !== '') json += ','
    json += `${JSON.stringify(key)}:${canonicalJson(field)}`
  }
  return `{${json}}`
}

/** Would two values give the same canonical JSON? Asked without writing either. */
export const isSameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, at) => isSameJson(item, b[at]))
    )
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  for (const key of keys) if (!isSameJson(Reflect.get(a, key), Reflect.get(b, key))) return false
  return true
}

/** Whatever walks a value of others relies on this bound; a cycle of YAML aliases is endlessly deep. */
export const isDeeperThan = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeeperThan(each, levels - 1))
}
