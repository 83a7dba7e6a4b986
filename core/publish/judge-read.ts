import type { Candidate } from '../model/candidate.ts'
import type { Finding } from '../model/finding.ts'
import { isWithdrawn } from '../model/opt-out.ts'
import { subjectKey } from '../model/resource.ts'
import type { ObjectKind, Snapshot } from '../model/snapshot.ts'
import type { Shrink } from '../model/source-state.ts'
import type { RegistryState } from '../model/state.ts'
import { findLosses, isShrinkRefused, kindLossOf, lossOf, presentIn } from './guard.ts'
import { findFault, listedKinds, ROUTE_KINDS } from './source-fault.ts'

/** A read of a source, and what was discovered in it. */
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
  /** Is what is gone from it not lost: because it was accepted before, or because another question was asked? */
  readonly isAccepted: boolean
  /** Did the last good read lack this already? It was accepted then, also where nobody came to publish that. */
  readonly wasGone: (loss: string) => boolean
  readonly states: readonly RegistryState[]
  /** What a person allowed to be lost; with `--force`, everything. */
  readonly isApproved: (loss: string) => boolean
  readonly maxShrink: number
}

export type Judgement =
  | { readonly kind: 'good'; readonly kinds: readonly string[] }
  | {
      readonly kind: 'bad'
      readonly problem: string
      /** What the guard saw, where it was the guard. */
      readonly shrink?: Shrink
      /** What a person may approve. */
      readonly losses: readonly string[]
      /** Was the owner of this, which is in the last good result, seen to say no? */
      readonly isWithdrawn: (candidate: Candidate) => boolean
    }

/**
 * Who is to go though the read is not good: who is there and says no. Who is there and merely does not ask may have been
 * asked for by a route, so that counts only where routes were read. Who was not seen is never withdrawn.
 */
const withdrawnIn = (
  { snapshot, candidates }: WholeRead,
  lost: ReadonlySet<string>,
  areRoutesRead: boolean,
): ((candidate: Candidate) => boolean) => {
  const asking = new Set(candidates.map(({ ref }) => subjectKey(ref)))
  const present = presentIn(snapshot)
  return ({ ref }) => {
    const resource = present.get(subjectKey(ref))
    if (resource === undefined || lost.has(subjectKey(ref))) return false
    return isWithdrawn(resource.meta) || (areRoutesRead && !asking.has(subjectKey(ref)))
  }
}

/** Is a read good enough to replace the last good one? */
export const judgeRead = (read: WholeRead, policy: GuardPolicy): Judgement => {
  const { snapshot, findings, candidates } = read
  const { source } = snapshot
  const fault = findFault(snapshot, findings, policy.gatewayApi, policy.listedBefore, policy.isApproved)
  if (fault !== undefined) {
    // Without Services nobody knows whom a route asks for.
    const kinds: readonly ObjectKind[] = [...ROUTE_KINDS, 'Service']
    const areRoutesRead =
      !kinds.some((kind) => snapshot.unlisted.has(kind)) &&
      !findings.some(
        ({ code, subject }) =>
          code === 'DocumentUnreadable' || (code === 'ResourceInvalid' && kinds.some((kind) => kind === subject.kind)),
      )
    return {
      kind: 'bad',
      problem: fault.problem,
      losses: fault.kinds.map((kind) => kindLossOf(source, kind)),
      isWithdrawn: withdrawnIn(read, new Set(), areRoutesRead),
    }
  }
  const asking = new Set(candidates.map(({ ref }) => subjectKey(ref)))
  const { lost, active } = findLosses(snapshot, asking, policy.states)
  const losses = { lost: lost.filter((ref) => !policy.wasGone(lossOf(ref))), active }
  if (policy.isAccepted || !isShrinkRefused(losses, policy.maxShrink, policy.isApproved))
    return { kind: 'good', kinds: listedKinds(snapshot, policy.gatewayApi) }
  const names = losses.lost.map(lossOf).sort()
  const detail = { lost: names.length, active: losses.active, examples: names.slice(0, 3) }
  return {
    kind: 'bad',
    problem: `${names.length} of ${losses.active} servers have vanished from it`,
    shrink: detail,
    losses: names,
    isWithdrawn: withdrawnIn(read, new Set(losses.lost.map(subjectKey)), true),
  }
}
