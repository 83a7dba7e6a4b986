import type { Candidate } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { type ResourceRef, type Subject, subjectKey } from '../model/resource.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { RegistryState } from '../model/state.ts'
import { findLosses, findWithdrawn, isShrinkRefused, lossOf } from './guard.ts'
import { findFault, kindLossOf, listedKinds } from './source-fault.ts'

/** A whole read of a source, and what was discovered in it. */
export type WholeRead = {
  readonly snapshot: Snapshot
  /** Of reading and of discovering. */
  readonly findings: readonly Finding[]
  readonly candidates: readonly Candidate[]
}

/** What stands between a read and its acceptance. */
export type GuardPolicy = {
  readonly gatewayApi: boolean
  /** The kinds that were there at the last good read. */
  readonly listedBefore: readonly string[]
  /** Is it asked for the same things as at the last good read? What is gone after another question is not lost. */
  readonly isAskedTheSame: boolean
  readonly states: readonly RegistryState[]
  readonly approved: ReadonlySet<string>
  readonly isForced: boolean
  readonly maxShrink: number
}

export type Judgement =
  | ({ readonly kind: 'good'; readonly kinds: readonly string[] } & Pick<WholeRead, 'candidates' | 'findings'>)
  | {
      readonly kind: 'bad'
      readonly problem: string
      readonly findings: readonly Finding[]
      /** What a person may approve. */
      readonly losses: readonly string[]
      /** Was the owner of this, which is in the last good result, seen to say no? */
      readonly isWithdrawn: (ref: ResourceRef) => boolean
    }

export const sourceSubject = (source: string): Subject => ({ source, kind: 'Source', namespace: '', name: source })

/** Is a read good enough to replace the last good one? */
export const judgeRead = ({ snapshot, findings, candidates }: WholeRead, policy: GuardPolicy): Judgement => {
  const { source } = snapshot
  const isApproved = (loss: string): boolean => policy.isForced || policy.approved.has(loss)
  const fault = findFault(snapshot, findings, policy.gatewayApi, policy.listedBefore, isApproved)
  if (fault !== undefined) {
    const withdrawn = findWithdrawn(snapshot)
    return {
      kind: 'bad',
      problem: fault.problem,
      findings: [],
      losses: fault.kinds.map((kind) => kindLossOf(source, kind)),
      isWithdrawn: (ref) => withdrawn.has(subjectKey(ref)),
    }
  }
  const asking = new Set(candidates.map(({ ref }) => subjectKey(ref)))
  const losses = findLosses(snapshot, asking, policy.states)
  const isRefused = !policy.isForced && isShrinkRefused(losses, policy.maxShrink, policy.approved)
  if (!policy.isAskedTheSame || !isRefused) return { kind: 'good', kinds: listedKinds(snapshot), candidates, findings }
  const lost = new Set(losses.lost.map(subjectKey))
  const names = losses.lost.map(lossOf).sort()
  const detail = { lost: lost.size, active: losses.active, examples: names.slice(0, 3) }
  return {
    kind: 'bad',
    problem: `${lost.size} of ${losses.active} servers have vanished from it`,
    findings: [findingOf(sourceSubject(source), { code: 'ShrinkRefused', ...detail })],
    losses: names,
    isWithdrawn: (ref) => !asking.has(subjectKey(ref)) && !lost.has(subjectKey(ref)),
  }
}
