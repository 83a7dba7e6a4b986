import { discover } from '../core/discover/discover.ts'
import { nameOf } from '../core/discover/route/landscape.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { SnapshotReading } from '../core/model/snapshot.ts'
import type { BlobStore, Cluster, ClusterWatch, Leadership } from '../core/ports.ts'
import { type Config, questionOf, type SourceConfig } from './config/config.ts'
import { type Synced, sync } from './sync.ts'
import type { Tell } from './tell-owners.ts'

export type WatchWorld = {
  readonly store: BlobStore
  readonly now: () => number
  readonly wait: (milliseconds: number) => Promise<void>
  readonly open: (source: SourceConfig) => Promise<Cluster>
  readonly tell: Tell
  readonly stopped: AbortSignal
  readonly onSync: (synced: Synced) => void | Promise<void>
  readonly onProblem: (text: string) => void
  readonly onLead: (isHeld: boolean) => void
}

/** How often all is listed anew, though nothing seems to have changed. */
const RESYNC_MS = 5 * 60_000
const LONGEST_PAUSE_MS = 60_000

/** The routes that give a URL. */
const routesWithUrls = ({ snapshot }: SnapshotReading, { discovery }: Config): ReadonlySet<string> =>
  new Set(
    discover(snapshot, discovery).walks.flatMap(({ route, endpoints }) => (endpoints.length > 0 ? nameOf(route) : [])),
  )

/** Wakes up whoever waits, or the next who does. */
const createBell = (wait: WatchWorld['wait']) => {
  let isRung = false
  let wake = (): void => {}
  return {
    ring: (): void => {
      isRung = true
      wake()
    },
    /** Was it rung before the time was over? */
    hear: async (milliseconds: number): Promise<boolean> => {
      if (!isRung) await Promise.race([wait(milliseconds), new Promise<void>((resolve) => (wake = resolve))])
      const heard = isRung
      isRung = false
      return heard
    },
  }
}

/**
 * Reads from the copy that a watch keeps. Where a route that is still there has lost its URL, all is listed once more:
 * the kinds of a copy are of several moments, and what is behind the route may be on its way.
 */
const createSourceReader = (
  config: Config,
  open: WatchWorld['open'],
  watches: ReadonlyMap<string, ClusterWatch>,
): ((source: SourceConfig, isWhole: boolean) => Promise<SnapshotReading>) => {
  const before = new Map<string, ReadonlySet<string>>()
  return async (source, isWhole) => {
    const copy = isWhole ? undefined : watches.get(source.name)?.reading()
    const had = before.get(source.name) ?? new Set()
    const has = copy && routesWithUrls(copy, config)
    const isLost = copy?.snapshot.routes.some((route) => had.has(nameOf(route)) && !has?.has(nameOf(route))) ?? true
    const reading = isLost || copy === undefined ? await (await open(source)).read(questionOf(source)) : copy
    before.set(source.name, reading === copy && has !== undefined ? has : routesWithUrls(reading, config))
    return reading
  }
}

/** A store in which only the holder of the lease writes. */
const heldStore = (store: BlobStore, isHeld: () => boolean): BlobStore => ({
  ...store,
  write: (key, bytes, expected) => {
    if (!isHeld())
      throw new OperationError('LeaseLost', 'The lease was lost in the middle of a sync; another replica goes on.')
    return store.write(key, bytes, expected)
  },
})

const startWatches = async (config: Config, world: WatchWorld, ring: () => void) => {
  const watches = new Map<string, ClusterWatch>()
  for (const source of config.sources) {
    const cluster = await world.open(source)
    watches.set(source.name, cluster.watch(questionOf(source), world.stopped, ring, world.onProblem))
  }
  return watches
}

const startLeading = async (config: Config, world: WatchWorld, ring: () => void): Promise<Leadership> => {
  const [first] = config.sources
  const { lease } = config.watch
  if (lease === undefined || first === undefined) return { isHeld: () => true, release: async () => {} }
  const cluster = await world.open(first)
  let wasHeld = false
  const leadership: Leadership = cluster.lead(
    lease,
    world.stopped,
    () => {
      wasHeld = !wasHeld
      world.onLead(wasHeld)
      ring()
    },
    world.onProblem,
  )
  return leadership
}

/** Syncs when a cluster changes, and now and then though it does not, as long as the lease is ours. Until it is stopped. */
export const watch = async (config: Config, world: WatchWorld): Promise<void> => {
  const { now, wait, stopped, onProblem } = world
  const bell = createBell(wait)
  stopped.addEventListener('abort', bell.ring)
  const watches = await startWatches(config, world, bell.ring)
  const leadership = await startLeading(config, world, bell.ring)
  const read = createSourceReader(config, world.open, watches)
  const store = heldStore(world.store, leadership.isHeld)
  const resync = Math.min(...config.sources.map(({ interval }) => interval ?? RESYNC_MS))
  let wholeAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let isDue = true

  while (!stopped.aborted) {
    const pause =
      failures > 0 ? Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** failures) : Math.max(0, wholeAt + resync - now())
    const isRung = isDue || (await bell.hear(pause))
    if (stopped.aborted) break
    // Who becomes the holder starts with a list of all.
    if (!leadership.isHeld()) {
      wholeAt = Number.NEGATIVE_INFINITY
      isDue = false
      if (!isRung) await bell.hear(LONGEST_PAUSE_MS)
      continue
    }
    isDue = false
    // A bell that was rung for the first change stands for all that follow soon.
    if (isRung && wholeAt > 0) await wait(config.watch.debounce)
    const isWhole = now() - wholeAt >= resync || failures > 0
    const began = now()
    try {
      const readSource = (source: SourceConfig) => read(source, isWhole)
      const synced = await sync(config, { store, now, readSource, tell: world.tell })
      failures = synced.isComplete ? 0 : failures + 1
      await world.onSync(synced)
      if (isWhole) wholeAt = began
    } catch (error) {
      if (!(error instanceof OperationError)) throw error
      failures++
      onProblem(error.message)
    }
  }
  await leadership.release()
}
