import { discover } from '../core/discover/discover.ts'
import { nameOf } from '../core/discover/route/landscape.ts'
import { canonicalJson } from '../core/model/canonical-json.ts'
import { during } from '../core/model/during.ts'
import { FINDING_CODES } from '../core/model/finding.ts'
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
/** For one that has failed: meanwhile the others wait. It doubles, so that a slow one comes back too. */
const PATIENCE_MS = 5_000
/** For routes that never rest. */
const MOST_LISTS = 3

const unsettled = (source: string): OperationError =>
  new OperationError(
    'ClusterUnsettled',
    `Routes of source ${source} lead elsewhere each time they are read. What is published stays until they rest.`,
  )

/** How long to leave alone what has failed so often in a row. */
export const pauseAfter = (failures: number): number => Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** failures)

export type WatchedSource = {
  /** When it is to be read though nothing seems to have changed. */
  readonly dueAt: () => number
  readonly read: () => Promise<SnapshotReading>
  /** The next read lists all. */
  readonly forget: () => void
}

/** The URLs that each exported route gives, and what it leads to that is not there. */
type Ways = ReadonlyMap<string, { readonly urls: ReadonlySet<string>; readonly why: string }>

const waysIn = ({ snapshot }: SnapshotReading, { discovery }: Config): Ways =>
  new Map(
    discover(snapshot, discovery).walks.map(({ route, endpoints, obstacles }) => {
      const missing = obstacles.filter(({ finding }) => FINDING_CODES[finding.code][0] === 'notFound')
      const why = canonicalJson(missing.map(({ finding }) => finding))
      return [nameOf(route), { urls: new Set(endpoints.map(({ url }) => url)), why }]
    }),
  )

/** The routes that still ask for it and have lost a URL that they had, each with what is missing; empty where none has. */
const lossesIn = (before: Ways, now: Ways): string =>
  [...now]
    .filter(([route, { urls }]) => [...(before.get(route)?.urls ?? [])].some((url) => !urls.has(url)))
    .map(([route, { why }]) => `${route} ${why}`)
    .sort()
    .join('\n')

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
      // Bounded: a timer that is asked for more than it can wait does not wait at all.
      const patience = Math.min(RESYNC_MS, PATIENCE_MS * 2 ** failures)
      if (failures > 0) void wait(patience, done.signal).then(() => late.abort(new DOMException('', 'TimeoutError')))
      try {
        const reading = await cluster.read(question, AbortSignal.any([signal, late.signal]))
        listedAt = began
        return reading
      } finally {
        done.abort()
      }
    })

  const first = async (): Promise<SnapshotReading> => {
    const isCopyEnough = failures > 0 || now() < listedAt + resync
    const copy = isCopyEnough ? await watch.reading() : undefined
    // After a failure a copy that is whole again was listed since, and nobody had to wait for that.
    if (copy !== undefined && failures > 0) listedAt = now()
    return copy ?? list()
  }

  /**
   * Where a route has lost a URL, all is listed once more: copies and lists of several kinds are not of one moment, and
   * what is behind the route may be on its way. A loss counts that is seen twice, with the same object missing.
   */
  const look = async (): Promise<SnapshotReading> => {
    let reading = await first()
    let found = waysIn(reading, config)
    let losses = lossesIn(ways, found)
    for (let lists = 0, isSure = losses === ''; !isSure; lists++) {
      if (lists === MOST_LISTS) throw unsettled(source.name)
      reading = await list()
      found = waysIn(reading, config)
      const again = lossesIn(ways, found)
      isSure = again === losses || again === ''
      losses = again
    }
    ways = found
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
