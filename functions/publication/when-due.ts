/** After a failure the store is asked again no sooner than that: one that is down is not to be knocked over. */
export const RETRY = 5000

/** Runs a piece of work once at a time, and not again before it is due. It says whether it went well. */
export const whenDue = (now: () => number, maxAge: () => number, work: () => Promise<boolean>) => {
  let running: Promise<void> | undefined
  let ranAt = Number.NEGATIVE_INFINITY
  let nextAt = Number.NEGATIVE_INFINITY
  let isGood = true
  const run = async (): Promise<void> => {
    try {
      isGood = await work()
    } finally {
      ranAt = now()
      nextAt = ranAt + (isGood ? maxAge() : Math.min(RETRY, maxAge()))
      running = undefined
    }
  }
  // A clock that was set back must not keep anyone from looking until it is there again.
  const isDue = (): boolean => now() >= nextAt || now() < ranAt
  /** Waits for it, but not for a store that failed the last time while there is something to serve. */
  return async (hasSomething: boolean): Promise<void> => {
    if (!isDue() && running === undefined) return
    running ??= run()
    if (isGood || !hasSomething) await running
  }
}
