const OPT_OUTS = ['false', 'no', 'off', 'n', 'f', '0']

/** An opt-out in any of its spellings: to list against one would be worse than not to list. */
export const meansNo = (value: unknown): boolean =>
  typeof value === 'string' ? OPT_OUTS.includes(value.trim().toLowerCase()) : value === false
