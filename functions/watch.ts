import { OperationError } from '../core/model/operation-error.ts'
import type { BlobStore, Cluster, Leadership } from '../core/ports.ts'
import type { Config, SourceConfig } from './config/config.ts'
import { type Synced, sync } from './sync.ts'
import type { Tell } from './tell-owners.ts'
import { createWatchedSource, pauseAfter, type WatchedSource } from './watched-source.ts'

export type WatchWorld = {
  readonly store: BlobStore
  readonly now: () => number
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly open: (source: SourceConfig) => Promise<Cluster>
  readonly tell: Tell
  readonly stopped: AbortSignal
  readonly onSync: (synced: Synced) => void | Promise<void>
  readonly onProblem: (text: string) => void
  readonly onLead: (isHeld: boolean) => void
}

/** A lease ends by the clock, and nobody rings then. */
const LOOK_MS = 1_000
/** A timer cannot wait much longer, whatever a configuration says. */
const LONGEST_WAIT_MS = 24 * 60 * 60_000

/** Wakes up whoever waits, or the next who does. */
const createBell = (wait: WatchWorld['wait']) => {
  let isRung = false
  let wake = (): void => {}
  return {
    ring: (): void => {
      isRung = true
      wake()
    },
    hush: (): void => {
      isRung = false
    },
    /** Was it rung before the time was over? */
    hear: async (milliseconds: number): Promise<boolean> => {
      const woken = new AbortController()
      wake = () => woken.abort()
      if (!isRung) await wait(Math.min(LONGEST_WAIT_MS, Math.max(0, milliseconds)), woken.signal)
      const heard = isRung
      isRung = false
      return heard
    },
  }
}

/** A store in which only the holder of the lease changes anything. */
const heldStore = (store: BlobStore, isHeld: () => boolean): BlobStore => {
  const check = (): void => {
    if (!isHeld())
      throw new OperationError('LeaseLost', 'The lease was lost in the middle of a sync; another replica goes on.')
  }
  return {
    ...store,
    write: async (key, bytes, expected) => {
      check()
      return store.write(key, bytes, expected)
    },
    delete: async (key) => {
      check()
      return store.delete(key)
    },
  }
}

const openAll = async ({ sources }: Config, open: WatchWorld['open']): Promise<ReadonlyMap<SourceConfig, Cluster>> => {
  const clusters = new Map<SourceConfig, Cluster>()
  for (const source of sources) clusters.set(source, await open(source))
  return clusters
}

const startLeading = (
  { watch: { lease } }: Config,
  cluster: Cluster | undefined,
  { onLead, onProblem }: WatchWorld,
  ring: () => void,
): Leadership => {
  if (lease === undefined || cluster === undefined) return { isHeld: () => true, release: async () => {} }
  const onChange = (isHeld: boolean): void => {
    onLead(isHeld)
    ring()
  }
  return cluster.lead(lease, onChange, onProblem)
}

/** Syncs when a cluster changes, and now and then though it does not, as long as the lease is ours. Until it is stopped. */
export const watch = async (config: Config, world: WatchWorld): Promise<void> => {
  const { now, wait, stopped, onProblem } = world
  // All of them, before anything runs: who cannot begin ends.
  const clusters = await openAll(config, world.open)
  const bell = createBell(wait)
  stopped.addEventListener('abort', bell.ring)
  const sources = new Map<string, WatchedSource>(
    [...clusters].map(([source, cluster]) => [
      source.name,
      createWatchedSource(source, cluster, config, world, bell.ring, onProblem),
    ]),
  )
  const [first] = clusters.values()
  const leadership = startLeading(config, first, world, bell.ring)
  const store = heldStore(world.store, leadership.isHeld)
  const readSource = async ({ name }: SourceConfig) => {
    const source = sources.get(name)
    if (source === undefined) throw new Error(`source ${name} is not watched`)
    return source.read()
  }
  let failures = 0
  let againAt = Number.POSITIVE_INFINITY

  while (!stopped.aborted) {
    if (!leadership.isHeld()) {
      // Who becomes the holder starts with a list of all.
      for (const source of sources.values()) source.forget()
      await bell.hear(LOOK_MS)
      continue
    }
    const dueAt = Math.min(againAt, ...[...sources.values()].map((source) => source.dueAt()))
    if (await bell.hear(dueAt - now())) await wait(config.watch.debounce, stopped)
    if (stopped.aborted || !leadership.isHeld()) continue
    // What was rung for until now is in what is read now.
    bell.hush()
    try {
      const synced = await sync(config, { store, now, readSource, tell: world.tell })
      failures = synced.isComplete ? 0 : failures + 1
      againAt = synced.isComplete ? Number.POSITIVE_INFINITY : now() + pauseAfter(failures)
      await world.onSync(synced)
    } catch (error) {
      if (stopped.aborted && error === stopped.reason) break
      if (!(error instanceof OperationError)) throw error
      failures++
      onProblem(error.message)
      await wait(pauseAfter(failures), stopped)
    }
  }
  await leadership.release()
}
