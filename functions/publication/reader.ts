import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { type Index, isIndex } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { createChunkCache } from './chunk-cache.ts'
import { INDEX_KEY, registryKeys } from './keys.ts'
import { DamagedObject, readJson } from './objects.ts'
import type { OpenPublication } from './open-publication.ts'
import { createSlot, problemOf, type ReadProblem, type RegistrySlot } from './registry-slot.ts'

/** An answer from a publication; `age` in seconds where the store has not been asked for longer than it should be. */
export type Answer<T> =
  | { readonly kind: 'answer'; readonly value: T; readonly document: string; readonly age?: number }
  | { readonly kind: 'unknownRegistry' }
  | { readonly kind: 'unavailable'; readonly detail: string }

export type RegistryHealth = {
  readonly name: string
  readonly status: 'fresh' | ReadProblem['status'] | 'nothing'
  readonly detail?: string
  readonly sequence?: number
  /** Ages in seconds: of the publication, of the last word from the store, of the last sync. */
  readonly published?: number
  readonly checked?: number
  readonly synced?: number
}

/** What the API serves from. `undefined` stands for the first registry. */
export type Reader = {
  readonly ask: <T>(
    registry: string | undefined,
    question: (publication: OpenPublication) => Promise<T>,
  ) => Promise<Answer<T>>
  /** `problem` is what keeps the reader from knowing its registries. */
  readonly health: () => Promise<{
    readonly registries: readonly RegistryHealth[]
    readonly problem: ReadProblem | undefined
  }>
  /** The registries in order, as far as the store could be asked. */
  readonly registries: () => Promise<readonly string[]>
}

const DEFAULT_SERVE: Index['serve'] = { maxAge: 30_000, staleAfter: 3_600_000 }
/** After a failure the store is asked again no sooner than that: one that is down is not to be knocked over. */
const RETRY = 5000
const NOTHING_YET = 'Nothing has been published yet.'

const isHeartbeat = (value: unknown): value is { readonly at: string } => isMap(value) && typeof value.at === 'string'

/** Runs a piece of work once at a time, and not again before it is due. */
const whenDue = (now: () => number, work: () => Promise<boolean>, maxAge: () => number) => {
  let running: Promise<void> | undefined
  let nextAt = Number.NEGATIVE_INFINITY
  let isGood = true
  const run = async (): Promise<void> => {
    isGood = await work()
    nextAt = now() + (isGood ? maxAge() : Math.min(RETRY, maxAge()))
  }
  /** Waits for it, but not for a store that failed the last time while there is something to serve. */
  return async (hasSomething: boolean): Promise<void> => {
    if (now() < nextAt && running === undefined) return
    running ??= run().finally(() => {
      running = undefined
    })
    if (isGood || !hasSomething) await running
  }
}

/** Reads publications from a store, keeps what it has read, and goes on with that when the store is away or lies. */
export const createReader = (
  store: BlobStore,
  now: () => number,
  tellOperator: (message: string) => void = () => {},
): Reader => {
  const cache = createChunkCache()
  const slots = new Map<string, { readonly slot: RegistrySlot; readonly refresh: (has: boolean) => Promise<void> }>()
  const heartbeats = new Map<string, { readonly at: number; readonly readAt: number }>()
  let index: Index | undefined
  let indexProblem: ReadProblem | undefined
  const serveSettings = (): Index['serve'] => index?.serve ?? DEFAULT_SERVE

  const refreshIndex = whenDue(
    now,
    async () => {
      try {
        const found = await readJson(store, INDEX_KEY, isIndex)
        if (found !== undefined) index = found.value
        indexProblem = undefined
        return true
      } catch (error) {
        indexProblem = problemOf(error, tellOperator)
        return false
      }
    },
    () => serveSettings().maxAge,
  )

  const slotOf = (name: string) => {
    const known = slots.get(name)
    if (known !== undefined) return known
    const slot = createSlot(store, cache, name, now, tellOperator)
    const refresh = whenDue(
      now,
      async () => {
        await slot.refresh()
        return slot.problem() === undefined
      },
      () => serveSettings().maxAge,
    )
    slots.set(name, { slot, refresh })
    return { slot, refresh }
  }

  const ageOf = (at: number | undefined): number | undefined =>
    at === undefined ? undefined : Math.max(0, Math.round((now() - at) / 1000))

  /** Tries the newest publication that there is, then the one before it. */
  const answerFrom = async <T>(
    slot: RegistrySlot,
    question: (publication: OpenPublication) => Promise<T>,
  ): Promise<Answer<T>> => {
    let away: ReadProblem | undefined
    for (const publication of slot.open()) {
      try {
        const value = await question(publication)
        const checkedAt = slot.checkedAt() ?? Number.NEGATIVE_INFINITY
        const isOld = now() - checkedAt > serveSettings().maxAge + RETRY
        const age = isOld ? (ageOf(slot.checkedAt()) ?? 0) : undefined
        return { kind: 'answer', value, document: publication.document, ...(age !== undefined && { age }) }
      } catch (error) {
        if (error instanceof DamagedObject) slot.distrust(publication, error)
        else away = problemOf(error, tellOperator)
      }
    }
    return { kind: 'unavailable', detail: (away ?? slot.problem())?.detail ?? NOTHING_YET }
  }

  const heartbeat = async (name: string): Promise<number | undefined> => {
    const known = heartbeats.get(name)
    if (known !== undefined && now() - known.readAt < serveSettings().maxAge) return known.at
    try {
      const found = await readJson(store, registryKeys(name).report, isHeartbeat)
      const at = found === undefined ? Number.NaN : Date.parse(found.value.at)
      if (!Number.isNaN(at)) heartbeats.set(name, { at, readAt: now() })
    } catch (error) {
      // That the store is away, or lies, is said by the pointer already.
      if (!(error instanceof OperationError)) throw error
    }
    return heartbeats.get(name)?.at
  }

  const healthOf = async (name: string): Promise<RegistryHealth> => {
    const { slot, refresh } = slotOf(name)
    await refresh(slot.open().length > 0)
    const pointer = slot.pointer()
    const syncedAt = await heartbeat(name)
    const isStale = syncedAt !== undefined && now() - syncedAt > serveSettings().staleAfter
    const late = isStale ? ({ status: 'stale', detail: 'The last sync was too long ago.' } as const) : undefined
    const problem = slot.problem() ?? indexProblem ?? late
    const ages = {
      published: ageOf(pointer === undefined ? undefined : Date.parse(pointer.at)),
      checked: ageOf(slot.checkedAt()),
      synced: ageOf(syncedAt),
    }
    const status = slot.open().length === 0 ? 'nothing' : (problem?.status ?? 'fresh')
    return {
      name,
      status,
      ...(problem !== undefined && { detail: problem.detail }),
      ...(pointer !== undefined && { sequence: pointer.sequence }),
      ...(ages.published !== undefined && { published: ages.published }),
      ...(ages.checked !== undefined && { checked: ages.checked }),
      ...(ages.synced !== undefined && { synced: ages.synced }),
    }
  }

  return {
    registries: async () => {
      await refreshIndex(index !== undefined)
      return index?.registries.map(({ name }) => name) ?? []
    },
    ask: async (registry, question) => {
      await refreshIndex(index !== undefined)
      if (index === undefined) return { kind: 'unavailable', detail: indexProblem?.detail ?? NOTHING_YET }
      // Never open by omission: private registries are not built yet.
      if (index.auth.mode !== 'anonymous')
        return { kind: 'unavailable', detail: 'This registry is private, and private registries are not served yet.' }
      const name = registry ?? index.registries[0]?.name
      if (name === undefined || !index.registries.some((each) => each.name === name)) return { kind: 'unknownRegistry' }
      const { slot, refresh } = slotOf(name)
      await refresh(slot.open().length > 0)
      const first = await answerFrom(slot, question)
      if (first.kind !== 'unavailable' || slot.problem()?.status !== 'corrupt') return first
      // An object may be gone because a newer publication has replaced it: the pointer is read again, once.
      await slot.refresh()
      return answerFrom(slot, question)
    },
    health: async () => {
      await refreshIndex(index !== undefined)
      const registries = await Promise.all((index?.registries ?? []).map(({ name }) => healthOf(name)))
      return { registries, problem: indexProblem }
    },
  }
}
