import type { Candidate } from '../model/candidate.ts'
import { canonicalJson, digestOf } from '../model/canonical-json.ts'
import { type Entry, OFFICIAL, type RegistryDocument } from '../model/entry.ts'
import type { Finding } from '../model/finding.ts'
import { compareBy, compareText } from '../model/order.ts'
import { admit } from './admit.ts'
import { assignNames } from './assign-names.ts'
import { claimUrls } from './claim-urls.ts'
import { composeServer, type KubernetesMetadata } from './compose-server.ts'
import type { EntryState, RegistryState } from './state.ts'
import { continueTimeline, type Dated, type Listed } from './timeline.ts'
import { compareVersions } from './version-order.ts'

export type SourceInput = {
  readonly name: string
  readonly hasClaims: boolean
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

/** The fold: what a registry was, what its sources say now, and a time, give what it is, and why. */
export const compile = (previous: RegistryState | undefined, inputs: RegistryInputs, now: number): Compiled => {
  // A clock that was set back must not make a time go back.
  const at = previous === undefined ? now : Math.max(now, previous.at + 1)
  const admitted = admit(inputs)
  const ordered = [...admitted.candidates].sort(precedence(inputs.sources))
  const claimed = claimUrls(ordered, previous)
  const { named, findings: nameFindings } = assignNames(claimed.candidates, previous)
  const composed = named.map(({ candidate, name }) => ({
    ...composeServer(candidate, name, inputs.kubernetesMetadata),
    candidate,
  }))
  const listed = composed.map(
    ({ server, json, candidate }): Listed => ({ server, json, owner: candidate.ref, wantedName: candidate.wantedName }),
  )

  const dated = [...continueTimeline(listed, previous?.entries ?? [], inputs.tombstones, at)].sort((a, b) =>
    storedOrder(a.state, b.state),
  )
  const states = dated.map(({ state }) => state)
  const isUnchanged = previous !== undefined && canonicalJson(states) === canonicalJson(previous.entries)
  const findings = [
    ...admitted.findings,
    ...claimed.findings,
    ...nameFindings,
    ...composed.flatMap((each) => each.findings),
  ]
  return {
    state: isUnchanged ? previous : { at, entries: states },
    document: writeDocument(inputs.registry, dated),
    findings: findings.map((finding) => ({ ...finding, registry: inputs.registry })),
  }
}
