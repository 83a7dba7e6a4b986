import { discover } from '../core/discover/discover.ts'
import { nameOf } from '../core/discover/route/landscape.ts'
import { during } from '../core/model/during.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { SnapshotReading } from '../core/model/snapshot.ts'
import type { Cluster } from '../core/ports.ts'
import { type Config, questionOf, type SourceConfig } from './config/config.ts'
import type { WatchWorld } from './watch.ts'

/** How often all is listed anew, though nothing seems to have changed. */
const RESYNC_MS = 5 * 60_000
/** What routes lead to outside the namespaces of a source is not watched. */
const RESYNC_ELSEWHERE_MS = 60_000
const LONGEST_PAUSE_MS = 60_000
/** For one that has failed: meanwhile the others wait. */
const PATIENCE_MS = 5_000

/** How long to leave alone what has failed so often in a row. */
export const pauseAfter = (failures: number): number => Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** failures)

export type WatchedSource = {
  /** When it is to be read though nothing seems to have changed. */
  readonly dueAt: () => number
  readonly read: () => Promise<SnapshotReading>
  /** The next read lists all. */
  readonly forget: () => void
}

/** The URLs that each exported route gives. */
type Ways = ReadonlyMap<string, ReadonlySet<string>>

const waysIn = ({ snapshot }: SnapshotReading, { discovery }: Config): Ways =>
  new Map(
    discover(snapshot, discovery).walks.map(({ route, endpoints }) => [
      nameOf(route),
      new Set(endpoints.map(({ url }) => url)),
    ]),
  )

/** Has a route that still asks for it lost a URL that it had? */
const hasLost = (before: Ways, now: Ways): boolean =>
  [...now].some(([route, urls]) => [...(before.get(route) ?? [])].some((url) => !urls.has(url)))

/** A source that is read from a copy, which a watch keeps, and now and then from its cluster. */
export const createWatchedSource = (
  source: SourceConfig,
  cluster: Cluster,
  config: Config,
  { now, wait, stopped }: Pick<WatchWorld, 'now' | 'wait' | 'stopped'>,
  ring: () => void,
  onProblem: (text: string) => void,
): WatchedSource => {
  const question = questionOf(source)
  const resync = source.interval ?? (source.scope.namespaces.length > 0 ? RESYNC_ELSEWHERE_MS : RESYNC_MS)
  let listedAt = Number.NEGATIVE_INFINITY
  let ways: Ways = new Map()
  let failures = 0
  let resting: { readonly until: number; readonly error: OperationError } | undefined

  const onChange = (): void => {
    // It may be back.
    resting = undefined
    ring()
  }
  const watch = cluster.watch(question, stopped, onChange, onProblem)

  const list = (): Promise<SnapshotReading> =>
    during(stopped, async (signal) => {
      const began = now()
      const late = new AbortController()
      const done = new AbortController()
      if (failures > 0) void wait(PATIENCE_MS, done.signal).then(() => late.abort(new DOMException('', 'TimeoutError')))
      try {
        const reading = await cluster.read(question, AbortSignal.any([signal, late.signal]))
        listedAt = began
        return reading
      } finally {
        done.abort()
      }
    })

  /**
   * Where a route has lost a URL, all is listed once more: copies and lists of several kinds are not of one moment, and
   * what is behind the route may be on its way.
   */
  const look = async (): Promise<SnapshotReading> => {
    const isCopyEnough = failures > 0 || now() < listedAt + resync
    const copy = isCopyEnough ? await watch.reading() : undefined
    // After a failure a copy that is whole again was listed since, and nobody had to wait for that.
    if (copy !== undefined && failures > 0) listedAt = now()
    const first = copy ?? (await list())
    const found = waysIn(first, config)
    const reading = hasLost(ways, found) ? await list() : first
    ways = reading === first ? found : waysIn(reading, config)
    return reading
  }

  return {
    dueAt: () => resting?.until ?? listedAt + resync,
    forget: () => {
      listedAt = Number.NEGATIVE_INFINITY
    },
    read: async () => {
      // Whoever waits for other sources need not wait for one that has just failed.
      if (resting !== undefined && now() < resting.until) throw resting.error
      try {
        const reading = await look()
        resting = undefined
        failures = 0
        return reading
      } catch (error) {
        // To stop is no failure of the source: nothing is made of it.
        stopped.throwIfAborted()
        if (!(error instanceof OperationError)) throw error
        failures++
        resting = { until: now() + pauseAfter(failures), error }
        throw error
      }
    },
  }
}
