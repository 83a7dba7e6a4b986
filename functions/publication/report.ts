import { type Finding, isQuiet } from '../../core/model/finding.ts'
import { isMap } from '../../core/model/is-map.ts'
import type { Pointer, Time } from '../../core/model/publication.ts'
import { findingJson } from '../../core/model/render-finding.ts'
import type { StoreCost } from './measured.ts'
import type { SettledSource } from './settle-source.ts'

export type SourceReport = {
  readonly name: string
  readonly isFresh: boolean
  readonly observedAt?: Time
  readonly servers: number
  readonly attempts: number
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
  readonly findings: readonly Readonly<Record<string, unknown>>[]
  /** Resources that did not ask to be listed, or are not selected. */
  readonly quiet: number
  /** What is wrong with the store, where tidying it up failed or found something missing. */
  readonly retention?: string
}

/** How one registry came out of a sync. */
export type Outcome = Pick<Report, 'action' | 'isHeld' | 'problem' | 'input'> & {
  readonly name: string
  readonly sources: readonly string[]
  readonly pointer: Pointer | undefined
}

const sourceReport = ({ name, isFresh, state: { good, attempts, problem, losses } }: SettledSource): SourceReport => ({
  name,
  isFresh,
  ...(good !== undefined && { observedAt: good.observedAt }),
  servers: good?.servers ?? 0,
  attempts,
  ...(problem !== undefined && { problem }),
  losses: losses ?? [],
})

/** The report of one registry: what is said about it and about its sources. */
export const reportOf = (
  { name, sources, pointer, ...outcome }: Outcome,
  settled: readonly SettledSource[],
  findings: readonly Finding[],
  rest: Pick<Report, 'at' | 'milliseconds' | 'cost' | 'retention'>,
): Report => {
  const own = findings.filter(
    ({ registry, subject }) => (registry === undefined || registry === name) && sources.includes(subject.source),
  )
  return {
    ...outcome,
    ...(pointer !== undefined && { sequence: pointer.sequence, document: pointer.document }),
    servers: pointer?.history.at(-1)?.servers ?? 0,
    ...rest,
    sources: settled.filter((source) => sources.includes(source.name)).map(sourceReport),
    findings: own.filter((finding) => !isQuiet(finding)).map(findingJson),
    quiet: own.filter(isQuiet).length,
  }
}

export const isReport = (value: unknown): value is Report =>
  isMap(value) && typeof value.at === 'string' && Array.isArray(value.sources) && Array.isArray(value.findings)
