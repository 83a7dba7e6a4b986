import type { Candidate, CandidateRemote } from '../model/candidate.ts'
import { canonicalJson } from '../model/canonical-json.ts'
import { type Entry, OFFICIAL, type RegistryDocument } from '../model/entry.ts'
import type { Finding } from '../model/finding.ts'
import { compareBy, compareText } from '../model/order.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import { admit } from './admit.ts'
import { assignNames } from './assign-names.ts'
import { claimUrls } from './claim-urls.ts'
import { composeServer, type KubernetesMetadata } from './compose-server.ts'
import { digestOf } from './digest.ts'
import { applyGrace } from './grace.ts'
import { selectRemotes } from './select-remotes.ts'
import { type EntryState, isLiving, type RegistryState, type RemoteState } from './state.ts'
import { continueTimeline, type Dated, type Listed } from './timeline.ts'
import { compareVersions } from './version-order.ts'

export type SourceInput = {
  readonly name: string
  readonly hasClaims: boolean
  /** When this was seen, in milliseconds: grace runs on it. */
  readonly observedAt: number
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

const runOf = ({ status, isLatest }: EntryState): number => (status === 'deleted' ? 2 : isLatest ? 0 : 1)

const storedOrder = compareBy<EntryState>(
  (a, b) => runOf(a) - runOf(b),
  (a, b) => compareText(a.name, b.name),
  (a, b) => compareVersions(a.version, b.version),
)

const officialOf = ({ status, isLatest, publishedAt, updatedAt, statusChangedAt }: EntryState): string => {
  const time = (at: number): string => new Date(at).toISOString()
  const official = {
    status,
    isLatest,
    publishedAt: time(publishedAt),
    updatedAt: time(updatedAt),
    statusChangedAt: time(statusChangedAt),
  }
  return canonicalJson({ [OFFICIAL]: official })
}

/** The entries as they are served, and a digest of all of it: content is hashed already, so only that hash goes in. */
const writeDocument = (registry: string, dated: readonly Dated[]): RegistryDocument => {
  const lines: string[] = []
  const entries = dated.map(({ state, server, json }): Entry => {
    const { name, version, status, isLatest, content } = state
    const official = officialOf(state)
    lines.push(`${name} ${version} ${content} ${official}`)
    return { name, version, status, isLatest, server, json: `{"_meta":${official},"server":${json}}` }
  })
  return { registry, entries, digest: digestOf(lines.join('\n')) }
}

type Claimant = {
  readonly ref: ResourceRef
  readonly wantedName: string
  readonly candidate: Candidate
  readonly all: readonly RemoteState[]
  readonly remotes: readonly CandidateRemote[]
}

/** What each candidate would publish: what is healthy, and what is still in its grace. */
const findRemotes = (
  candidates: readonly Candidate[],
  inputs: RegistryInputs,
  previous: readonly EntryState[],
): { readonly claimants: readonly Claimant[]; readonly findings: readonly Finding[] } => {
  const observed = new Map(inputs.sources.map(({ name, observedAt }) => [name, observedAt]))
  const before = new Map(
    previous.filter(({ status }) => status === 'active').map((state) => [subjectKey(state.owner), state]),
  )
  const graced = candidates.map((candidate) => ({
    candidate,
    ...applyGrace(
      candidate,
      before.get(subjectKey(candidate.ref)),
      observed.get(candidate.ref.source) ?? 0,
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
  const listed = fitting.map(({ claimant, server, json }): Listed => {
    const published = new Set(claimant.remotes.map(({ url }) => url))
    const lost = new Set(selectRemotes(claimant.all).flatMap(({ url }) => (published.has(url) ? [] : [url])))
    return {
      server,
      json,
      owner: claimant.ref,
      wantedName: claimant.wantedName,
      remotes: claimant.all.filter(({ url }) => !lost.has(url)),
    }
  })

  const dated = [...continueTimeline(listed, living, at)].sort((a, b) => storedOrder(a.state, b.state))
  const states = dated.map(({ state }) => state)
  const isUnchanged = previous !== undefined && canonicalJson(states) === canonicalJson(previous.entries)
  const findings = [admitted, found, names, claims, ...composed].flatMap((each) => each.findings)
  return {
    state: isUnchanged ? previous : { at, entries: states },
    document: writeDocument(inputs.registry, dated),
    findings: findings.map((finding) => ({ ...finding, registry: inputs.registry })),
  }
}
