import { type Finding, isQuiet } from '../../core/model/finding.ts'
import { isMap } from '../../core/model/is-map.ts'
import type { Pointer, Time } from '../../core/model/publication.ts'
import { findingJson } from '../../core/model/render-finding.ts'
import type { SourceState } from '../../core/model/source-state.ts'
import type { StoreCost } from './measured.ts'

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
  /** `none`: no source has ever given a result, so there is nothing to publish. */
  readonly action: 'write' | 'note' | 'keep' | 'none'
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
  /** Why nothing was swept, where that failed. */
  readonly retention?: string
}

export const sourceReport = (
  name: string,
  isFresh: boolean,
  { good, attempts, problem }: SourceState,
  losses: readonly string[],
): SourceReport => ({
  name,
  isFresh,
  ...(good !== undefined && { observedAt: good.observedAt }),
  servers: good?.servers ?? 0,
  attempts,
  ...(problem !== undefined && { problem }),
  losses,
})

/** What is said in the report of one registry: about it, and about its sources. */
export const reportedFindings = (
  findings: readonly Finding[],
  registry: string,
  sources: readonly string[],
): Pick<Report, 'findings' | 'quiet'> => {
  const own = findings.filter(
    (finding) =>
      (finding.registry === undefined || finding.registry === registry) && sources.includes(finding.subject.source),
  )
  return {
    findings: own.filter((finding) => !isQuiet(finding)).map(findingJson),
    quiet: own.filter(isQuiet).length,
  }
}

export const pointerFacts = (pointer: Pointer | undefined): Pick<Report, 'sequence' | 'document' | 'servers'> =>
  pointer === undefined
    ? { servers: 0 }
    : { sequence: pointer.sequence, document: pointer.document, servers: pointer.history.at(-1)?.servers ?? 0 }

export const isReport = (value: unknown): value is Report =>
  isMap(value) && typeof value.at === 'string' && Array.isArray(value.sources) && Array.isArray(value.findings)
