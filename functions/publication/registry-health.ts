import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { BlobStore } from '../../core/ports.ts'
import { registryKeys } from './keys.ts'
import { readJson } from './objects.ts'
import type { ReadProblem, RegistrySlot } from './registry-slot.ts'

/** How a registry stands, in words that everyone may read. Ages are seconds. */
export type RegistryHealth = {
  readonly name: string
  readonly status: 'fresh' | ReadProblem['status'] | 'nothing'
  readonly detail?: string
  readonly sequence?: number
  /** Since the publication, since the last word from the store, since the last sync. */
  readonly published?: number
  readonly checked?: number
  readonly synced?: number
}

const isHeartbeat = (value: unknown): value is { readonly at: string } => isMap(value) && typeof value.at === 'string'

/** When the last sync was, asked of the store at most as often as the pointer is. */
export const createHeartbeat = (store: BlobStore, now: () => number) => {
  const heartbeats = new Map<string, { readonly at: number | undefined; readonly readAt: number }>()
  return async (registry: string, maxAge: number): Promise<number | undefined> => {
    const known = heartbeats.get(registry)
    if (known !== undefined && now() - known.readAt < maxAge) return known.at
    let at = known?.at
    try {
      const found = await readJson(store, registryKeys(registry).report, isHeartbeat)
      const time = Date.parse(found?.value.at ?? '')
      if (!Number.isNaN(time)) at = time
    } catch (error) {
      // That the store is away, or lies, is said by the pointer already.
      if (!(error instanceof OperationError)) throw error
    }
    heartbeats.set(registry, { at, readAt: now() })
    return at
  }
}

export const healthOf = (
  name: string,
  slot: RegistrySlot,
  indexProblem: ReadProblem | undefined,
  heartbeat: number | undefined,
  staleAfter: number,
  now: number,
): RegistryHealth => {
  const pointer = slot.pointer()
  const publishedAt = pointer && Date.parse(pointer.at)
  // A sync that died before its report has published all the same.
  const syncedAt = Math.max(heartbeat ?? 0, publishedAt ?? 0)
  const late: ReadProblem = { status: 'stale', detail: 'The last sync was too long ago.' }
  const problem = slot.problem() ?? indexProblem ?? (now - syncedAt > staleAfter ? late : undefined)
  const ageOf = (at: number): number => Math.max(0, Math.round((now - at) / 1000))
  const checkedAt = slot.checkedAt()
  const isEmpty = slot.open().length === 0
  return {
    name,
    status: isEmpty ? 'nothing' : (problem?.status ?? 'fresh'),
    ...(problem !== undefined && (!isEmpty || problem !== late) && { detail: problem.detail }),
    ...(pointer !== undefined && { sequence: pointer.sequence }),
    ...(publishedAt !== undefined && { published: ageOf(publishedAt) }),
    ...(checkedAt !== undefined && { checked: ageOf(checkedAt) }),
    ...(syncedAt > 0 && { synced: ageOf(syncedAt) }),
  }
}
