const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** Text of others, bounded and without anything that could move a cursor or turn a line around. */
export const printable = (text: string, most = 80): string => {
  // Cut first, then escape: a megabyte of control characters costs no more than a line.
  const cut = text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text.toWellFormed()
  return cut.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escape)
}

/** A value of others as it would be written in JSON. */
export const quote = (value: unknown): string => {
  if (typeof value === 'string') return `"${printable(value)}"`
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'null'
  return typeof value === 'object' ? 'an object' : `${String(value)}, a ${typeof value}`
}
