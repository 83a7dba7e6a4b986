import { type Compiled, compile } from '../core/compile/compile.ts'
import { orderFindings } from '../core/compile/report.ts'
import { discover } from '../core/discover/discover.ts'
import type { RouteWalk } from '../core/discover/route/walk.ts'
import { type Finding, findingOf } from '../core/model/finding.ts'
import type { Manifests } from '../core/model/manifests.ts'
import { parseSnapshot, type SnapshotReading } from '../core/model/parse-snapshot.ts'
import type { ReadAs, Snapshot } from '../core/model/snapshot.ts'
import type { Config } from './config/config.ts'

/** What a compile gives: each registry in order, all findings, and the snapshots and walks that they speak of. */
export type Compilation = {
  readonly registries: readonly Compiled[]
  readonly findings: readonly Finding[]
  readonly snapshots: readonly Snapshot[]
  readonly walks: readonly { readonly source: string; readonly walk: RouteWalk }[]
}

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
  const registries = config.registries.map(({ name, hasClaims, sources }) =>
    compile(
      previous.find(({ document }) => document.registry === name)?.state,
      {
        registry: name,
        hasClaims,
        sources: sources.flatMap((source) => inputs.filter((each) => each.name === source)),
        pendingGrace: config.discovery.pendingGrace,
        ...config.publish,
      },
      now,
    ),
  )
  const unused = inputs.filter(({ name }) => !config.registries.some(({ sources }) => sources.includes(name)))
  const left = unused.flatMap(({ name, candidates }) =>
    [{ source: name, kind: 'Source', namespace: '', name }, ...candidates.map(({ ref }) => ref)].map((subject) =>
      findingOf(subject, { code: 'SourceUnused' }),
    ),
  )
  const findings = [
    ...inputs.flatMap((input) => input.findings),
    ...left,
    ...registries.flatMap((registry) => registry.findings),
  ]
  return {
    registries,
    findings: orderFindings(findings, registries),
    snapshots: readings.map(({ snapshot }) => snapshot),
    walks: inputs.flatMap(({ name, walks }) => walks.map((walk) => ({ source: name, walk }))),
  }
}

/** Manifests stand in for the cluster of every source. */
export const readSources = (config: Config, manifests: Manifests, readAs: ReadAs): readonly SnapshotReading[] =>
  config.sources.map(({ name, scope, gatewayApi }) => {
    const { snapshot, findings } = parseSnapshot(name, readAs, scope, manifests)
    return { snapshot: gatewayApi ? snapshot : { ...snapshot, routes: [] }, findings }
  })

export const compileManifests = (config: Config, manifests: Manifests, readAs: ReadAs, now: number): Compilation =>
  compileSnapshots(config, readSources(config, manifests, readAs), now)
