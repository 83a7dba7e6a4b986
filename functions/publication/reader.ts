import { type Index, isIndex } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { createChunkCache } from './chunk-cache.ts'
import { INDEX_KEY } from './keys.ts'
import { DamagedObject, readJson } from './objects.ts'
import type { OpenPublication } from './open-publication.ts'
import { createHeartbeat, healthOf, type RegistryHealth, type SourceHealth } from './registry-health.ts'
import { createSlot, problemOf, type ReadProblem, type RegistrySlot } from './registry-slot.ts'
import { type Clock, RETRY, whenDue } from './when-due.ts'

/** An answer from a publication; `age` in seconds where it is older than it should be. */
export type Answer<T> =
  | { readonly kind: 'answer'; readonly value: T; readonly publication: OpenPublication; readonly age?: number }
  | { readonly kind: 'unknownRegistry' }
  | { readonly kind: 'unavailable'; readonly detail: string }

/** `problem` is what keeps the reader from serving any registry. */
export type Health = {
  readonly registries: readonly RegistryHealth[]
  readonly problem: { readonly status: ReadProblem['status'] | 'private'; readonly detail: string } | undefined
}

/** What the API serves from. */
export type Reader = {
  /** `undefined` stands for the first registry. */
  readonly ask: <T>(
    registry: string | undefined,
    question: (publication: OpenPublication) => Promise<T>,
  ) => Promise<Answer<T>>
  /** What is served now, where that is known without asking anybody. */
  readonly current: (registry: string | undefined) => OpenPublication | undefined
  readonly health: () => Promise<Health>
  /** How the sources of all registries stood at their last sync; `undefined` where that cannot be told. */
  readonly sources: () => Promise<readonly SourceHealth[] | undefined>
  /** The registries in order, as far as the store could be asked. */
  readonly registries: () => Promise<readonly string[]>
}

type Due = ReturnType<typeof whenDue>

const names = ({ registries }: Index): readonly string[] => registries.map(({ name }) => name)

const DEFAULT_SERVE: Index['serve'] = { maxAge: 30_000, staleAfter: 3_600_000 }
const NOTHING_YET = 'Nothing has been published yet.'
const PRIVATE = 'This registry is private, and private registries are not served yet.'

/** Reads publications from a store, keeps what it has read, and goes on with that when the store is away or lies. */
export const createReader = (
  store: BlobStore,
  clock: Clock,
  tellOperator: (message: string) => void = () => {},
): Reader => {
  const { now } = clock
  const cache = createChunkCache()
  const slots = new Map<string, { readonly slot: RegistrySlot; readonly due: Due; readonly again: Due }>()
  let index: Index | undefined
  let indexProblem: ReadProblem | undefined
  const settings = (): Index['serve'] => index?.serve ?? DEFAULT_SERVE
  const maxAge = (): number => settings().maxAge
  const heartbeat = createHeartbeat(store, clock, maxAge, tellOperator)

  const lookAtIndex = async (): Promise<ReadProblem | undefined> => {
    try {
      const found = await readJson(store, INDEX_KEY, isIndex)
      if (found === undefined) return index && { status: 'corrupt', detail: 'The index is missing from the store.' }
      if (index !== undefined && found.value.at < index.at)
        return { status: 'stale', detail: `The store returned an older index: of ${found.value.at} after ${index.at}.` }
      index = found.value
      for (const name of slots.keys()) if (!names(index).includes(name)) slots.delete(name)
      return undefined
    } catch (error) {
      return problemOf(error, tellOperator)
    }
  }
  const indexDue = whenDue(clock, maxAge, async () => {
    indexProblem = await lookAtIndex()
    return indexProblem === undefined
  })
  const freshIndex = async (): Promise<Index | undefined> => {
    await indexDue.refresh(index !== undefined)
    return index
  }
  /** Never open by omission: private registries are not built yet. */
  const isPrivate = (): boolean => index !== undefined && index.auth.mode !== 'anonymous'

  const slotOf = (name: string) => {
    const known = slots.get(name)
    if (known !== undefined) return known
    const slot = createSlot(store, cache, name, now, tellOperator)
    const due = whenDue(clock, maxAge, async () => {
      await slot.refresh()
      return slot.problem() === undefined
    })
    // Not by every request that meets the same damage.
    const again = whenDue(
      clock,
      () => RETRY,
      async () => {
        await slot.refresh()
        return true
      },
    )
    slots.set(name, { slot, due, again })
    return { slot, due, again }
  }
  const freshSlot = async (name: string): Promise<RegistrySlot> => {
    const { slot, due } = slotOf(name)
    await due.refresh(slot.open().length > 0)
    return slot
  }

  /** How old an answer is where that must be said: the store was not asked in time, or it names a newer publication. */
  const ageOf = (checkedAt: number | undefined, supersededAt: number | undefined): number | undefined => {
    const isLate = checkedAt !== undefined && now() - checkedAt > maxAge() + RETRY
    const since = Math.min(isLate ? checkedAt : now(), supersededAt ?? now())
    return isLate || supersededAt !== undefined ? Math.max(0, Math.round((now() - since) / 1000)) : undefined
  }

  /**
   * Asks the newest publication that there is. The one before it is asked where the newest is known to be damaged, or
   * cannot be had for the moment and nobody has heard it yet: what it withdrew must not come back by an outage.
   */
  const answerFrom = async <T>(
    slot: RegistrySlot,
    question: (publication: OpenPublication) => Promise<T>,
    isLookedAgain: boolean,
  ): Promise<Answer<T>> => {
    let away: ReadProblem | undefined
    for (const { publication, supersededAt } of slot.open()) {
      try {
        const value = await question(publication)
        slot.hear(publication)
        const age = ageOf(slot.checkedAt(), supersededAt)
        return { kind: 'answer', value, publication, ...(age !== undefined && { age }) }
      } catch (error) {
        const isDamaged = error instanceof DamagedObject
        if (isDamaged) slot.distrust(publication, error)
        else away = problemOf(error, tellOperator)
        if (isDamaged ? !isLookedAgain : slot.isHeard(publication)) break
      }
    }
    return { kind: 'unavailable', detail: (away ?? slot.problem())?.detail ?? NOTHING_YET }
  }

  return {
    current: (registry) => {
      if (index === undefined || isPrivate() || indexDue.isDue()) return undefined
      const known = slots.get(registry ?? names(index)[0] ?? '')
      return known === undefined || known.due.isDue() || known.slot.problem() !== undefined
        ? undefined
        : known.slot.newest()
    },
    registries: async () => (await freshIndex())?.registries.map(({ name }) => name) ?? [],
    ask: async (registry, question) => {
      const known = await freshIndex()
      if (known === undefined) return { kind: 'unavailable', detail: indexProblem?.detail ?? NOTHING_YET }
      if (isPrivate()) return { kind: 'unavailable', detail: PRIVATE }
      const name = registry ?? known.registries[0]?.name
      if (name === undefined || !known.registries.some((each) => each.name === name)) return { kind: 'unknownRegistry' }
      const slot = await freshSlot(name)
      const first = await answerFrom(slot, question, false)
      if (first.kind !== 'unavailable' || slot.problem()?.status !== 'corrupt') return first
      // An object may be gone because a newer publication has replaced it: the pointer is read again, once.
      await slotOf(name).again.refresh(false)
      return answerFrom(slot, question, true)
    },
    sources: async () => {
      const known = await freshIndex()
      if (known === undefined) return indexProblem === undefined ? [] : undefined
      if (isPrivate()) return undefined
      const beats = await Promise.all(names(known).map((name) => heartbeat(name, false)))
      const isUnknown = beats.some(({ problem, sources }) => problem !== undefined && sources.length === 0)
      return isUnknown ? undefined : beats.flatMap(({ sources }) => sources)
    },
    health: async () => {
      const known = await freshIndex()
      if (known === undefined) return { registries: [], problem: indexProblem }
      if (isPrivate()) return { registries: [], problem: { status: 'private', detail: PRIVATE } }
      const registries = await Promise.all(
        names(known).map(async (name) => {
          const [slot, beat] = await Promise.all([freshSlot(name), heartbeat(name, true)])
          return healthOf(name, slot, indexProblem, beat, settings().staleAfter, now())
        }),
      )
      return { registries, problem: indexProblem }
    },
  }
}
