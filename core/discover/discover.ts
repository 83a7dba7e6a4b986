import type { Candidate } from '../model/candidate.ts'
import { isServerName, MAX_TEXT } from '../model/entry.ts'
import { type Finding, type FindingDetail, findingOf } from '../model/finding.ts'
import { printable } from '../model/printable.ts'
import type { ResourceRef } from '../model/resource.ts'
import { selects } from '../model/selector.ts'
import type { McpResource, Scope, Snapshot } from '../model/snapshot.ts'
import { readClaims } from './claims.ts'
import { indexAuthConfigs, readDirectRemote } from './direct-remote.ts'
import {
  type Field,
  readDescription,
  readIcon,
  readTags,
  readTier,
  readTitle,
  readToolDefinitions,
  readTools,
  readVersion,
} from './fields.ts'
import { readOptIn } from './opt-in.ts'
import type { DiscoveryOptions } from './options.ts'
import { readReadiness } from './readiness.ts'
import type { FindAuthConfig } from './required-headers.ts'

/** What a cluster offers to a registry, and what its owners should know. */
export type Discovery = { readonly candidates: readonly Candidate[]; readonly findings: readonly Finding[] }

type Surroundings = {
  readonly snapshot: Snapshot
  readonly groups: ReadonlySet<string>
  readonly findAuthConfig: FindAuthConfig
}

const notSelected = ({ meta }: McpResource, scope: Scope): FindingDetail | undefined => {
  if (scope.namespaces.length > 0 && !scope.namespaces.includes(meta.namespace))
    return { code: 'NotSelected', by: 'namespaces' }
  return selects(scope.labelSelector, meta.labels) ? undefined : { code: 'NotSelected', by: 'labelSelector' }
}

/** Everything that is asked of a resource that opted in; every obstacle is reported, not only the first. */
const examine = (
  resource: McpResource,
  ref: ResourceRef,
  around: Surroundings,
  options: DiscoveryOptions,
): Discovery => {
  const findings: Finding[] = []
  const report = (...details: readonly FindingDetail[]): void =>
    void findings.push(...details.map((detail) => findingOf(ref, detail)))
  const take = <T>(field: Field<T>): T | undefined => {
    report(...field.findings)
    return field.value
  }
  const { kind, meta } = resource
  report(...readReadiness(resource, around.snapshot.readAs, options))

  const claims = readClaims(resource)
  if (claims.kind === 'bad') report(claims.finding)

  const wantedName = options.naming.replaceAll('{namespace}', meta.namespace).replaceAll('{name}', meta.name)
  if (!isServerName(wantedName)) report({ code: 'NameInvalid', wanted: wantedName })

  const direct = readDirectRemote(resource, around.findAuthConfig, options)
  report(...direct.findings)

  const inGroup = resource.group !== undefined && around.groups.has(`${meta.namespace}/${resource.group}`)
  if (resource.group !== undefined && !inGroup)
    report({ code: 'ReferenceNotFound', kind: 'MCPGroup', name: printable(resource.group) })

  const description = take(readDescription(resource))
  const generates = options.missingDescription === 'generate'
  if (description === undefined)
    findings.push(findingOf(ref, { code: 'DescriptionMissing' }, generates ? 'degraded' : 'skipped'))

  const candidate: Candidate = {
    ref,
    createdAt: meta.createdAt,
    uid: meta.uid,
    image: resource.image,
    wantedName,
    title: take(readTitle(resource)),
    description: description ?? `${kind} ${meta.name} in namespace ${meta.namespace}`.slice(0, MAX_TEXT),
    version: take(readVersion(resource, options.versionFrom)) ?? '1.0.0',
    icon: take(readIcon(resource)),
    remotes: direct.remotes,
    tier: take(readTier(resource)),
    tags: take(readTags(resource)),
    tools: take(readTools(resource)),
    toolDefinitions: take(readToolDefinitions(resource)),
    group: inGroup ? resource.group : undefined,
    claims: claims.kind === 'claims' ? claims.claims : undefined,
  }
  return { candidates: findings.some(({ effect }) => effect === 'skipped') ? [] : [candidate], findings }
}

/** Which MCP resources of a snapshot ask to be listed, with what, and why the others are not. */
export const discover = (snapshot: Snapshot, options: DiscoveryOptions): Discovery => {
  const around: Surroundings = {
    snapshot,
    groups: new Set(snapshot.groups.map(({ meta }) => `${meta.namespace}/${meta.name}`)),
    findAuthConfig: indexAuthConfigs(snapshot.externalAuthConfigs),
  }
  const candidates: Candidate[] = []
  const findings: Finding[] = []
  for (const resource of snapshot.resources) {
    const { kind, meta } = resource
    const ref: ResourceRef = { source: snapshot.source, kind, namespace: meta.namespace, name: meta.name }
    const unselected = notSelected(resource, snapshot.scope)
    if (unselected !== undefined) {
      findings.push(findingOf(ref, unselected))
      continue
    }
    const optIn = readOptIn(resource, options)
    findings.push(...optIn.findings.map((detail) => findingOf(ref, detail)))
    if (!optIn.exported) continue
    const examined = examine(resource, ref, around, options)
    candidates.push(...examined.candidates)
    findings.push(...examined.findings)
  }
  return { candidates, findings }
}
