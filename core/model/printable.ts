const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** Text of others, bounded and without anything that could move a cursor or turn a line around. */
export const printable = (text: string, most = 80): string => {
  // Cut first, then escape: a megabyte of control characters costs no more than a line.
  const cut = text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text.toWellFormed()
  return cut.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped)
}

/** What sort of value this is, as the end of a sentence: "it is a number". */
export const sortOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

/** A value of others, for a sentence. */
export const quote = (value: unknown): string => {
  if (typeof value === 'string') return `"${printable(value)}"`
  return value === null || typeof value === 'object' ? sortOf(value) : `${String(value)}, ${sortOf(value)}`
}
