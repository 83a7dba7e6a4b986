/** Code unit order: the same on every machine, which `localeCompare` is not, and these bytes get hashed. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

type Compare<T> = (a: T, b: T) => number

/** The first comparison that tells the two apart decides. */
export const compareBy =
  <T>(...comparisons: readonly Compare<T>[]): Compare<T> =>
  (a, b) => {
    for (const compare of comparisons) {
      const order = compare(a, b)
      if (order !== 0) return order
    }
    return 0
  }
