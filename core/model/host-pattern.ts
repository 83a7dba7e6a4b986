// A pattern is a precise name, `*.` and a suffix, or empty for any host.

export const isWildcard = (pattern: string): boolean => pattern.startsWith('*.')

/** A wildcard stands for one or more labels, never for none. */
export const matchesHost = (pattern: string, host: string): boolean =>
  pattern === '' ||
  pattern === host ||
  (isWildcard(pattern) && host.length >= pattern.length && host.endsWith(pattern.slice(1)))
