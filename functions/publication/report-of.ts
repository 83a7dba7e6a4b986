import { type Finding, isQuiet } from '../../core/model/finding.ts'
import type { Pointer } from '../../core/model/publication.ts'
import { findingJson } from '../../core/model/render-finding.ts'
import type { ReadCost } from '../../core/model/snapshot.ts'
import type { SettledSource } from './last-good.ts'
import type { Report, SourceReport } from './report.ts'

/** How one registry came out of a sync. */
export type Outcome = Pick<Report, 'action' | 'isHeld' | 'problem' | 'input'> & {
  readonly name: string
  readonly sources: readonly string[]
  readonly pointer: Pointer | undefined
}

const sourceReport = (
  { name, isFresh, state: { good, attempts, problem, losses } }: SettledSource,
  cost: ReadCost | undefined,
): SourceReport => ({
  name,
  isFresh,
  ...(good !== undefined && { observedAt: good.observedAt }),
  servers: good?.servers ?? 0,
  attempts,
  ...(cost !== undefined && { cost }),
  ...(problem !== undefined && { problem }),
  losses: losses ?? [],
})

/** The report of one registry: what is said about it and about its sources. */
export const reportOf = (
  { name, sources, pointer, ...outcome }: Outcome,
  settled: readonly SettledSource[],
  findings: readonly Finding[],
  /** Which owners were told of a finding, by uid. */
  told: ReadonlyMap<Finding, string>,
  costs: ReadonlyMap<string, ReadCost>,
  rest: Pick<Report, 'at' | 'milliseconds' | 'cost' | 'retention' | 'untold'>,
): Report => {
  const own = findings.filter(
    ({ registry, subject }) => (registry === undefined || registry === name) && sources.includes(subject.source),
  )
  return {
    ...outcome,
    ...(pointer !== undefined && { sequence: pointer.sequence, document: pointer.document }),
    servers: pointer?.history.at(-1)?.servers ?? 0,
    ...rest,
    sources: settled
      .filter((source) => sources.includes(source.name))
      .map((source) => sourceReport(source, costs.get(source.name))),
    findings: own
      .filter((finding) => !isQuiet(finding))
      .map((finding) => ({ ...findingJson(finding), ...(told.has(finding) && { told: told.get(finding) }) })),
    quiet: own.filter(isQuiet).length,
  }
}
