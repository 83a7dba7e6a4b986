import type { Candidate } from '../model/candidate.ts'
import { isSameJson } from '../model/canonical-json.ts'
import type { RegistryDocument } from '../model/entry.ts'
import type { Finding } from '../model/finding.ts'
import { compareBy, compareText } from '../model/order.ts'
import { isLiving, type RegistryState } from '../model/state.ts'
import { admit } from './admit.ts'
import { assignNames } from './assign-names.ts'
import { claimUrls } from './claim-urls.ts'
import { composeServer, type KubernetesMetadata } from './compose-server.ts'
import { findRemotes } from './find-remotes.ts'
import { continueTimeline, type Listed } from './timeline.ts'
import { storedOrder, writeDocument } from './write-document.ts'

export type SourceInput = {
  readonly name: string
  readonly hasClaims: boolean
  /** When this was seen, in milliseconds: grace runs on it. */
  readonly observedAt: number
  /** Was it read now, or is this the last good result of a source that failed? */
  readonly isFresh: boolean
  readonly candidates: readonly Candidate[]
}

export type RegistryInputs = {
  readonly registry: string
  readonly hasClaims: boolean
  /** In order of precedence. */
  readonly sources: readonly SourceInput[]
  readonly kubernetesMetadata: KubernetesMetadata
  /** How long what was removed is remembered, in milliseconds. */
  readonly tombstones: number
  /** How long a listed remote stays while its way is closed for the moment, in milliseconds. */
  readonly pendingGrace: number
}

export type Compiled = {
  readonly state: RegistryState
  readonly document: RegistryDocument
  readonly findings: readonly Finding[]
}

/** The oldest first; one without a date was there before dates were kept. */
const precedence = (sources: readonly SourceInput[]) => {
  const rank = new Map(sources.map(({ name }, index) => [name, index]))
  return compareBy<Candidate>(
    (a, b) => (a.createdAt ?? Number.NEGATIVE_INFINITY) - (b.createdAt ?? Number.NEGATIVE_INFINITY) || 0,
    (a, b) => (rank.get(a.ref.source) ?? 0) - (rank.get(b.ref.source) ?? 0),
    (a, b) => compareText(a.ref.kind, b.ref.kind),
    (a, b) => compareText(a.ref.namespace, b.ref.namespace),
    (a, b) => compareText(a.ref.name, b.ref.name),
  )
}

/** The fold: what a registry was, what its sources say now, and a time, give what it is, and why. */
export const compile = (previous: RegistryState | undefined, inputs: RegistryInputs, now: number): Compiled => {
  // A clock that was set back must not make a time go back.
  const at = previous === undefined ? now : Math.max(now, previous.at + 1)
  const living = (previous?.entries ?? []).filter((state) => isLiving(state, inputs.tombstones, at))
  const admitted = admit(inputs)
  const found = findRemotes([...admitted.candidates].sort(precedence(inputs.sources)), inputs, living)
  const names = assignNames(found.claimants, living)
  const claims = claimUrls(
    names.named.map(({ claimant, name }) => ({ ...claimant, name })),
    living,
  )
  const composed = claims.settled.map((claimant) => ({
    claimant,
    ...composeServer(claimant.candidate, claimant.remotes, claimant.name, inputs.kubernetesMetadata),
  }))
  const fitting = composed.filter((each) => each.findings.every(({ effect }) => effect !== 'skipped'))
  const listed = fitting.map(
    ({ claimant, server, json }): Listed => ({
      server,
      json,
      owner: claimant.ref,
      wantedName: claimant.wantedName,
      remotes: claimant.all,
    }),
  )

  const dated = [...continueTimeline(listed, living, at)].sort((a, b) => storedOrder(a.state, b.state))
  const states = dated.map(({ state }) => state)
  const isUnchanged = previous !== undefined && isSameJson(states, previous.entries)
  const findings = [admitted, found, names, claims, ...composed].flatMap((each) => each.findings)
  return {
    state: isUnchanged ? previous : { at, entries: states },
    document: writeDocument(inputs.registry, dated),
    findings: findings.map((finding) => ({ ...finding, registry: inputs.registry })),
  }
}
