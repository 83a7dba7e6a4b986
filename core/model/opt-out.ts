const OPT_OUTS = ['false', 'no', 'off', 'n', 'f', '0']

/** An opt-out in any of its spellings: to list against one would be worse than not to list. */
export const meansNo = (value: unknown): boolean =>
  typeof value === 'string' ? OPT_OUTS.includes(value.trim().toLowerCase()) : value === false

/** An object that says no for itself, whatever else could be read: it is going, it is restricted, or it opts out. */
export const isWithdrawn = ({
  terminating,
  annotations,
}: {
  readonly terminating: boolean
  readonly annotations: ReadonlyMap<string, unknown>
}): boolean => terminating || annotations.has('authz-claims') || meansNo(annotations.get('registry-export'))
