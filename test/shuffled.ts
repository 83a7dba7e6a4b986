/** The same items in another order, the same one for the same seed. */
export const shuffled = <T>(items: readonly T[], seed: number): readonly T[] => {
  const result = [...items]
  let state = seed
  for (let index = result.length - 1; index > 0; index--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    const other = state % (index + 1)
    const [a, b] = [result[index], result[other]]
    if (a !== undefined && b !== undefined) [result[index], result[other]] = [b, a]
  }
  return result
}
