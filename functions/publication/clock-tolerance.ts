/** A time that is further ahead than that was written by a clock that has been set back since. */
export const CLOCK_TOLERANCE = 60_000
