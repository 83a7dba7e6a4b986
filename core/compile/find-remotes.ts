import type { Candidate } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import type { EntryState, RemoteState } from '../model/state.ts'
import type { RegistryInputs } from './compile.ts'
import { applyGrace, type Observed } from './grace.ts'
import { selectRemotes } from './select-remotes.ts'

/** A candidate with all its remotes, and those of them that it would publish, the best first. */
export type Claimant = {
  readonly ref: ResourceRef
  readonly wantedName: string
  readonly candidate: Candidate
  readonly all: readonly RemoteState[]
  readonly remotes: readonly RemoteState[]
}

const NEVER: Observed = { observedAt: 0, isFresh: false }

/** What each candidate would publish: what is healthy, and what is still in its grace. */
export const findRemotes = (
  candidates: readonly Candidate[],
  inputs: RegistryInputs,
  previous: readonly EntryState[],
): { readonly claimants: readonly Claimant[]; readonly findings: readonly Finding[] } => {
  const observed = new Map(inputs.sources.map((source) => [source.name, source]))
  const before = new Map(
    previous.filter(({ status }) => status === 'active').map((state) => [subjectKey(state.owner), state]),
  )
  const claimants = candidates.map((candidate): Claimant => {
    const { ref, wantedName } = candidate
    const all = applyGrace(
      candidate,
      before.get(subjectKey(ref)),
      observed.get(ref.source) ?? NEVER,
      inputs.pendingGrace,
    )
    return { ref, wantedName, candidate, all, remotes: selectRemotes(all) }
  })
  const findings = claimants.flatMap(({ ref, remotes }) =>
    remotes.flatMap(({ url, pendingSince }) =>
      pendingSince === undefined
        ? []
        : [
            findingOf(ref, {
              code: 'PendingGrace',
              url,
              until: new Date(pendingSince + inputs.pendingGrace).toISOString(),
            }),
          ],
    ),
  )
  return { claimants: claimants.filter(({ remotes }) => remotes.length > 0), findings }
}
