import { type Compiled, compile, type RegistryInputs, type SourceInput } from '../core/compile/compile.ts'
import { orderFindings } from '../core/compile/report.ts'
import { discover } from '../core/discover/discover.ts'
import type { RouteWalk } from '../core/discover/route/walk.ts'
import type { Candidate } from '../core/model/candidate.ts'
import { type Finding, findingOf } from '../core/model/finding.ts'
import type { Manifests } from '../core/model/manifests.ts'
import { parseSnapshot } from '../core/model/parse-snapshot.ts'
import { sourceSubject } from '../core/model/resource.ts'
import type { ReadAs, Snapshot, SnapshotReading } from '../core/model/snapshot.ts'
import type { Config, RegistryConfig } from './config/config.ts'

/** What a compile gives: each registry in order, all findings, and the snapshots and walks that they speak of. */
export type Compilation = {
  readonly registries: readonly Compiled[]
  readonly findings: readonly Finding[]
  readonly snapshots: readonly Snapshot[]
  readonly walks: readonly { readonly source: string; readonly walk: RouteWalk }[]
}

/** What one registry is compiled from: its sources in the order of precedence, and its settings. */
export const inputsOf = (
  config: Config,
  { name, hasClaims, sources }: RegistryConfig,
  inputs: readonly SourceInput[],
): RegistryInputs => ({
  registry: name,
  hasClaims,
  sources: sources.flatMap((source) => inputs.filter((each) => each.name === source)),
  pendingGrace: config.discovery.pendingGrace,
  tombstones: config.publish.tombstones,
  kubernetesMetadata: config.publish.kubernetesMetadata,
})

/** A source that no registry names gives nothing, and whoever is in it should know. */
export const findUnused = (
  { registries }: Config,
  inputs: readonly { readonly name: string; readonly candidates: readonly Candidate[] }[],
): readonly Finding[] =>
  inputs
    .filter(({ name }) => !registries.some(({ sources }) => sources.includes(name)))
    .flatMap(({ name, candidates }) =>
      [sourceSubject(name), ...candidates.map(({ ref }) => ref)].map((subject) =>
        findingOf(subject, { code: 'SourceUnused' }),
      ),
    )

/** Snapshots in, registries and reasons out, going on from what the registries were. Nothing is stored. */
export const compileSnapshots = (
  config: Config,
  readings: readonly SnapshotReading[],
  now: number,
  previous: readonly Compiled[] = [],
): Compilation => {
  const inputs = readings.map(({ snapshot, findings }) => {
    const { candidates, findings: found, walks } = discover(snapshot, config.discovery)
    const hasClaims = config.sources.some(({ name, hasClaims }) => name === snapshot.source && hasClaims)
    return {
      name: snapshot.source,
      hasClaims,
      observedAt: now,
      isFresh: true,
      candidates,
      walks,
      findings: [...findings, ...found],
    }
  })
  const registries = config.registries.map((registry) =>
    compile(
      previous.find(({ document }) => document.registry === registry.name)?.state,
      inputsOf(config, registry, inputs),
      now,
    ),
  )
  const findings = [
    ...inputs.flatMap((input) => input.findings),
    ...findUnused(config, inputs),
    ...registries.flatMap((registry) => registry.findings),
  ]
  return {
    registries,
    findings: orderFindings(findings, registries),
    snapshots: readings.map(({ snapshot }) => snapshot),
    walks: inputs.flatMap(({ name, walks }) => walks.map((walk) => ({ source: name, walk }))),
  }
}

/** Manifests stand in for the cluster of a source. */
export const readSource = (
  { name, scope, gatewayApi }: Config['sources'][number],
  manifests: Manifests,
  readAs: ReadAs,
): SnapshotReading => {
  const { snapshot, findings } = parseSnapshot(name, readAs, scope, manifests)
  return { snapshot: gatewayApi ? snapshot : { ...snapshot, routes: [] }, findings }
}

/** They stand in for the clusters of all sources. */
export const readSources = (config: Config, manifests: Manifests, readAs: ReadAs): readonly SnapshotReading[] =>
  config.sources.map((source) => readSource(source, manifests, readAs))

export const compileManifests = (config: Config, manifests: Manifests, readAs: ReadAs, now: number): Compilation =>
  compileSnapshots(config, readSources(config, manifests, readAs), now)
