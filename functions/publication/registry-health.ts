import type { BlobStore } from '../../core/ports.ts'
import { CLOCK_TOLERANCE } from './clock-tolerance.ts'
import { registryKeys } from './keys.ts'
import { readJson } from './objects.ts'
import { problemOf, type ReadProblem, type RegistrySlot } from './registry-slot.ts'
import { isReport, type Report } from './report.ts'
import { type Clock, whenDue } from './when-due.ts'

/** How a registry stands, in words that everyone may read. Ages are seconds. */
export type RegistryHealth = {
  readonly name: string
  /** `nothing`: it was never published. */
  readonly status: 'fresh' | ReadProblem['status'] | 'nothing'
  /** Can anything of it be served? */
  readonly served: boolean
  readonly detail?: string
  readonly servers?: number
  readonly sequence?: number
  /** Since the publication, since the last word from the store, since the last sync. */
  readonly published?: number
  readonly checked?: number
  readonly synced?: number
}

/** How a source stands, without what went wrong: that names hosts and resources. */
export type SourceHealth = {
  readonly registry: string
  readonly name: string
  readonly fresh: boolean
  readonly observedAt?: string
  readonly servers: number
  readonly attempts: number
}

export type Heartbeat = {
  readonly at: number | undefined
  readonly sources: readonly SourceHealth[]
  readonly problem: ReadProblem | undefined
}

const sourceHealth = (
  registry: string,
  { name, isFresh, observedAt, servers, attempts }: Report['sources'][number],
): SourceHealth => ({
  registry,
  name,
  fresh: isFresh,
  ...(observedAt !== undefined && { observedAt }),
  servers,
  attempts,
})

/** When the last sync was, asked of the store as seldom and as patiently as the pointer is. */
export const createHeartbeat = (
  store: BlobStore,
  clock: Clock,
  maxAge: () => number,
  tellOperator: (message: string) => void,
) => {
  const beats = new Map<string, { known: Heartbeat | undefined; readonly due: ReturnType<typeof whenDue> }>()
  const beatOf = (registry: string) => {
    const before = beats.get(registry)
    if (before !== undefined) return before
    const due = whenDue(clock, maxAge, async () => {
      const { at, sources } = beat.known ?? { at: undefined, sources: [] }
      try {
        const found = await readJson(store, registryKeys(registry).report, isReport)
        const time = Date.parse(found?.value.at ?? '')
        beat.known = {
          at: Number.isNaN(time) ? at : time,
          sources: found?.value.sources.map((source) => sourceHealth(registry, source)) ?? sources,
          problem: undefined,
        }
      } catch (error) {
        beat.known = { at, sources, problem: problemOf(error, tellOperator) }
      }
      return beat.known.problem === undefined
    })
    const beat: { known: Heartbeat | undefined; readonly due: typeof due } = { known: undefined, due }
    beats.set(registry, beat)
    return beat
  }
  /** `hasSomething`: is there an answer without it? Then nobody waits long for it. */
  return async (registry: string, hasSomething: boolean): Promise<Heartbeat> => {
    const beat = beatOf(registry)
    await beat.due.refresh(hasSomething || beat.known !== undefined)
    return beat.known ?? { at: undefined, sources: [], problem: undefined }
  }
}

export const healthOf = (
  name: string,
  slot: RegistrySlot,
  indexProblem: ReadProblem | undefined,
  heartbeat: Heartbeat,
  staleAfter: number,
  now: number,
): RegistryHealth => {
  const pointer = slot.pointer()
  const publishedAt = pointer && Date.parse(pointer.at)
  // A sync that died before its report has published all the same.
  const isPast = (at: number | undefined): at is number => at !== undefined && at <= now + CLOCK_TOLERANCE
  const syncedAt = Math.max(0, ...[heartbeat.at, publishedAt].filter(isPast))
  const late: ReadProblem = { status: 'stale', detail: 'The last sync was too long ago.' }
  const problem =
    slot.problem() ?? indexProblem ?? heartbeat.problem ?? (now - syncedAt > staleAfter ? late : undefined)
  const ageOf = (at: number): number => Math.max(0, Math.round((now - at) / 1000))
  const checkedAt = slot.checkedAt()
  const isEmpty = slot.open().length === 0
  return {
    name,
    status: isEmpty && (problem === undefined || problem === late) ? 'nothing' : (problem?.status ?? 'fresh'),
    served: !isEmpty,
    ...(problem !== undefined && (!isEmpty || problem !== late) && { detail: problem.detail }),
    ...(pointer !== undefined && { servers: pointer.history.at(-1)?.servers ?? 0, sequence: pointer.sequence }),
    ...(publishedAt !== undefined && { published: ageOf(publishedAt) }),
    ...(checkedAt !== undefined && { checked: ageOf(checkedAt) }),
    ...(syncedAt > 0 && { synced: ageOf(syncedAt) }),
  }
}
