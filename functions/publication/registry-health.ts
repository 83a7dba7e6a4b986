import type { BlobStore } from '../../core/ports.ts'
import { CLOCK_TOLERANCE } from './clock-tolerance.ts'
import { registryKeys } from './keys.ts'
import { readJson } from './objects.ts'
import { problemOf, type ReadProblem, type RegistrySlot } from './registry-slot.ts'
import { isReport, type Report } from './report.ts'
import { RETRY } from './when-due.ts'

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

/** When the last sync was, asked of the store at most as often as the pointer is. */
export const createHeartbeat = (store: BlobStore, now: () => number, tellOperator: (message: string) => void) => {
  const heartbeats = new Map<string, Heartbeat & { readonly readAt: number }>()
  return async (registry: string, maxAge: number): Promise<Heartbeat> => {
    const known = heartbeats.get(registry)
    // A clock may have been set back.
    if (known !== undefined && Math.abs(now() - known.readAt) < Math.min(maxAge, known.problem ? RETRY : maxAge))
      return known
    let { at, sources } = known ?? { at: undefined, sources: [] }
    let problem: ReadProblem | undefined
    try {
      const found = await readJson(store, registryKeys(registry).report, isReport)
      const time = Date.parse(found?.value.at ?? '')
      if (!Number.isNaN(time)) at = time
      if (found !== undefined) sources = found.value.sources.map((source) => sourceHealth(registry, source))
    } catch (error) {
      problem = problemOf(error, tellOperator)
    }
    heartbeats.set(registry, { at, sources, problem, readAt: now() })
    return { at, sources, problem }
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
