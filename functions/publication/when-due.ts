/** After a failure the store is asked again no sooner than that: one that is down is not to be knocked over. */
export const RETRY = 5000

/** Runs a piece of work once at a time, and not again before it is due. It says whether it went well. */
export const whenDue = (now: () => number, maxAge: () => number, work: () => Promise<boolean>) => {
  let running: Promise<void> | undefined
  let nextAt = Number.NEGATIVE_INFINITY
  let isGood = true
  const run = async (): Promise<void> => {
    try {
      isGood = await work()
    } finally {
      nextAt = now() + (isGood ? maxAge() : Math.min(RETRY, maxAge()))
      running = undefined
    }
  }
  /** Waits for it, but not for a store that failed the last time while there is something to serve. */
  return async (hasSomething: boolean): Promise<void> => {
    if (now() < nextAt && running === undefined) return
    running ??= run()
    if (isGood || !hasSomething) await running
  }
}
