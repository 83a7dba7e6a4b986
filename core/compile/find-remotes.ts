import type { Candidate, CandidateRemote } from '../model/candidate.ts'
import type { Finding } from '../model/finding.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import type { RegistryInputs } from './compile.ts'
import { applyGrace } from './grace.ts'
import { selectRemotes } from './select-remotes.ts'
import type { EntryState, RemoteState } from './state.ts'

/** A candidate with all its remotes, and those of them that it would publish, the best first. */
export type Claimant = {
  readonly ref: ResourceRef
  readonly wantedName: string
  readonly candidate: Candidate
  readonly all: readonly RemoteState[]
  readonly remotes: readonly CandidateRemote[]
}

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
  const graced = candidates.map((candidate) => ({
    candidate,
    ...applyGrace(
      candidate,
      before.get(subjectKey(candidate.ref)),
      observed.get(candidate.ref.source) ?? { observedAt: 0, isFresh: false },
      inputs.pendingGrace,
    ),
  }))
  const claimants = graced.map(({ candidate, remotes }) => ({
    ref: candidate.ref,
    wantedName: candidate.wantedName,
    candidate,
    all: remotes,
    remotes: selectRemotes(remotes),
  }))
  return {
    claimants: claimants.filter(({ remotes }) => remotes.length > 0),
    findings: graced.flatMap(({ findings }) => findings),
  }
}
