import { isMap } from '../../core/model/is-map.ts'
import type { Time } from '../../core/model/publication.ts'
import type { ReadCost } from '../../core/model/snapshot.ts'
import type { StoreCost } from './measured.ts'

export type SourceReport = {
  readonly name: string
  readonly isFresh: boolean
  readonly observedAt?: Time
  readonly servers: number
  readonly attempts: number
  /** What asking its cluster cost, where this sync did. */
  readonly cost?: ReadCost
  readonly problem?: string
  /** What vanished and was refused: `waypost approve` accepts exactly these. */
  readonly losses: readonly string[]
}

/** `report.json`: what the last sync did and saw. It is the heartbeat, so every sync writes it. */
export type Report = {
  readonly at: Time
  /** `none`: no source of the registry has ever given a result. `failed`: `problem` says why it was left as it is. */
  readonly action: 'write' | 'note' | 'keep' | 'none' | 'failed'
  readonly problem?: string
  readonly isHeld: boolean
  readonly sequence?: number
  readonly document?: string
  /** What the registry was made from, also where that changed nothing. */
  readonly input?: string
  readonly servers: number
  readonly milliseconds: number
  readonly cost: StoreCost
  readonly sources: readonly SourceReport[]
  /** Each with `told`, the uid of the object whose owner was told of it by an Event. */
  readonly findings: readonly Readonly<Record<string, unknown>>[]
  /** Resources that did not ask to be listed, or are not selected. */
  readonly quiet: number
  /** What is wrong with the store, where tidying it up failed or found something missing. */
  readonly retention?: string
  /** Why owners were not told by Events, where that was asked for. */
  readonly untold?: string
}

export const isReport = (value: unknown): value is Report =>
  isMap(value) && typeof value.at === 'string' && Array.isArray(value.sources) && Array.isArray(value.findings)
