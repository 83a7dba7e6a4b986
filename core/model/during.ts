/**
 * Gives a piece of work a signal of its own, which ends with the longer one. `AbortSignal.any` would do, but what it makes
 * of a signal that lives as long as the process is never freed.
 */
export const during = async <T>(longer: AbortSignal, work: (own: AbortSignal) => Promise<T>): Promise<T> => {
  const own = new AbortController()
  const end = (): void => own.abort(longer.reason)
  if (longer.aborted) end()
  longer.addEventListener('abort', end)
  try {
    return await work(own.signal)
  } finally {
    longer.removeEventListener('abort', end)
  }
}
