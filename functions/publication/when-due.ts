/** After a failure the store is asked again no sooner than that: one that is down is not to be knocked over. */
export const RETRY = 5000
/** Nobody who can be served waits longer than that for something newer. */
const PATIENCE = 2000

export type Clock = {
  readonly now: () => number
  readonly wait: (milliseconds: number) => Promise<void>
}

/** Runs a piece of work once at a time, and not again before it is due. It says whether it went well. */
export const whenDue = (clock: Clock, maxAge: () => number, work: () => Promise<boolean>) => {
  const { now, wait } = clock
  let running: Promise<void> | undefined
  let ranAt = Number.NEGATIVE_INFINITY
  let nextAt = Number.NEGATIVE_INFINITY
  let isGood = true
  const run = async (): Promise<void> => {
    isGood = await work().finally(() => {
      isGood = false
      running = undefined
    })
    ranAt = now()
    nextAt = ranAt + (isGood ? maxAge() : Math.min(RETRY, maxAge()))
  }
  // A clock that was set back must not keep anyone from looking until it is there again.
  const isDue = (): boolean => now() >= nextAt || now() < ranAt
  return {
    isDue,
    /** Waits for it; where there is something to serve not for long, and not for a store that failed the last time. */
    refresh: async (hasSomething: boolean): Promise<void> => {
      if (!isDue() && running === undefined) return
      running ??= run()
      if (!hasSomething) return running
      // Who has waited in vain has waited for all others.
      const isSlow = (): void => {
        if (running !== undefined) isGood = false
      }
      if (isGood) return Promise.race([running, wait(PATIENCE).then(isSlow)])
      // Nobody waits for it: what it throws is told when somebody does.
      running.catch(() => {})
    },
  }
}
