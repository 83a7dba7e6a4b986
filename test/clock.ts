import type { Clock } from '../functions/publication/when-due.ts'

/** A clock of the test's own. Patience has no end in it, so that nothing depends on how fast the machine is. */
export const clockAt = (now: () => number): Clock => ({ now, wait: () => new Promise(() => {}) })
