/** A few at a time: a store that answers slowly is not made slower, and memory stays bounded. The first failure ends it. */
export const inParallel = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const results = new Array<R>(items.length)
  const queue = items.entries()
  let hasFailed = false
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (hasFailed) return
      try {
        results[index] = await work(item)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return results
}
