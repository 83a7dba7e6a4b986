import { type Compiled, compile } from '../core/compile/compile.ts'
import { orderFindings } from '../core/compile/report.ts'
import { discover } from '../core/discover/discover.ts'
import { type Finding, findingOf } from '../core/model/finding.ts'
import { parseSnapshot } from '../core/model/parse-snapshot.ts'
import type { ReadAs, Snapshot } from '../core/model/snapshot.ts'
import type { Manifests } from '../core/ports.ts'
import type { Config } from './config/config.ts'

/** What a compile gives: each registry in order, all findings, and the snapshots that they speak of. */
export type Compilation = {
  readonly registries: readonly Compiled[]
  readonly findings: readonly Finding[]
  readonly snapshots: readonly Snapshot[]
}

/** Manifests in, registries and reasons out. The manifests stand in for every cluster; nothing is stored. */
export const compileManifests = (config: Config, manifests: Manifests, readAs: ReadAs, now: number): Compilation => {
  const sources = config.sources.map(({ name, scope, hasClaims }) => {
    const { snapshot, findings } = parseSnapshot(name, readAs, scope, manifests)
    const discovery = discover(snapshot, config.discovery)
    return {
      name,
      hasClaims,
      snapshot,
      candidates: discovery.candidates,
      findings: [...findings, ...discovery.findings],
    }
  })
  const unused = sources
    .filter(({ name }) => !config.registries.some((registry) => registry.sources.includes(name)))
    .map(({ name }) => findingOf({ source: name, kind: 'Source', namespace: '', name }, { code: 'SourceUnused' }))
  const registries = config.registries.map(({ name, hasClaims, sources: wanted }) =>
    compile(
      undefined,
      {
        registry: name,
        hasClaims,
        sources: wanted.flatMap((source) => sources.filter((each) => each.name === source)),
        ...config.publish,
      },
      now,
    ),
  )
  const findings = [
    ...sources.flatMap((source) => source.findings),
    ...unused,
    ...registries.flatMap((registry) => registry.findings),
  ]
  return {
    registries,
    findings: orderFindings(findings, registries),
    snapshots: sources.map(({ snapshot }) => snapshot),
  }
}
