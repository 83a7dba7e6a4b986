import type { Candidate, CandidateRemote, PendingWay } from '../model/candidate.ts'
import { isServerName, MAX_TEXT } from '../model/entry.ts'
import { type Finding, type FindingDetail, findingOf } from '../model/finding.ts'
import { printable } from '../model/printable.ts'
import { type ResourceRef, type Subject, subjectKey } from '../model/resource.ts'
import type { McpResource, Snapshot } from '../model/snapshot.ts'
import { readClaims } from './claims.ts'
import { namesUrl, readDirectRemote } from './direct-remote.ts'
import {
  type Annotated,
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
import type { DiscoveryOptions } from './options.ts'
import { readReadiness } from './readiness.ts'
import type { FindAuthConfig } from './required-headers.ts'
import { routeSubject } from './route/discover-routes.ts'
import { nameOf } from './route/landscape.ts'
import { pendingThrough, type ResourceWalk, remotesThrough, waysOf } from './routed-remotes.ts'

/** What a resource is examined against. */
export type Surroundings = {
  readonly snapshot: Snapshot
  readonly groups: ReadonlySet<string>
  readonly findAuthConfig: FindAuthConfig
  /** The walks that lead to each resource, by the name of their route. */
  readonly walks: ReadonlyMap<McpResource, readonly ResourceWalk[]>
}

type Endpoints = {
  readonly remotes: readonly CandidateRemote[]
  readonly pending: readonly PendingWay[]
  readonly findings: readonly FindingDetail[]
}

/** Where the resource is reached: its own URL wins over any route; without one, through the routes that lead to it. */
const findEndpoints = (
  resource: McpResource,
  walks: readonly ResourceWalk[],
  around: Surroundings,
  options: DiscoveryOptions,
): Endpoints => {
  if (walks.length === 0 || namesUrl(resource.meta.annotations))
    return { ...readDirectRemote(resource, around.findAuthConfig, options), pending: [] }
  return { ...remotesThrough(walks, resource), pending: pendingThrough(walks) }
}

const groupOf = ({ group, meta }: McpResource, { groups, snapshot }: Surroundings): Field<string> => {
  if (group === undefined || groups.has(`${meta.namespace}/${group}`)) return { value: group, findings: [] }
  if (snapshot.unlisted.has('MCPGroup')) return { value: undefined, findings: [] }
  const isThere = snapshot.unreadable.has(
    subjectKey({ source: snapshot.source, kind: 'MCPGroup', namespace: meta.namespace, name: group }),
  )
  return {
    value: undefined,
    findings: [
      { code: isThere ? 'ReferenceUnreadable' : 'ReferenceNotFound', kind: 'MCPGroup', name: printable(group) },
    ],
  }
}

/** An auth configuration that cannot be read may have several upstreams, which would keep the entry out. */
const effectOf = (detail: FindingDetail): 'skipped' | undefined =>
  detail.code === 'ReferenceUnreadable' && detail.kind === 'MCPExternalAuthConfig' ? 'skipped' : undefined

/** Looks an auth configuration up; one that could not be read is not missing. */
export const indexAuthConfigs = ({ source, externalAuthConfigs, unlisted, unreadable }: Snapshot): FindAuthConfig => {
  const byName = new Map(externalAuthConfigs.map((config) => [nameOf(config), config]))
  return (namespace, name) => {
    if (unlisted.get('MCPExternalAuthConfig') === 'denied') return 'denied'
    const isThere = unreadable.has(subjectKey({ source, kind: 'MCPExternalAuthConfig', namespace, name }))
    return byName.get(`${namespace}/${name}`) ?? (isThere ? 'unreadable' : 'missing')
  }
}

/** Everything that is asked of a resource that opted in; every obstacle is reported, not only the first. */
export const examine = (
  resource: McpResource,
  ref: ResourceRef,
  around: Surroundings,
  options: DiscoveryOptions,
): { readonly candidates: readonly Candidate[]; readonly findings: readonly Finding[] } => {
  const findings: Finding[] = []
  const report = (details: readonly FindingDetail[], subject: Subject = ref): void => {
    for (const detail of details) findings.push(findingOf(subject, detail, effectOf(detail)))
  }
  const { kind, meta } = resource
  const walks = around.walks.get(resource) ?? []
  /** Reads an annotation of the resource, else of the first route that has it. */
  const take = <T>(annotation: string, read: (holder: Annotated) => Field<T>): T | undefined => {
    const route = meta.annotations.has(annotation)
      ? undefined
      : walks.find(({ walk }) => walk.route.meta.annotations.has(annotation))?.walk.route
    const field = read(route ?? resource)
    report(field.findings, route === undefined ? ref : routeSubject(ref.source, route))
    return field.value
  }
  const readiness = readReadiness(resource, around.snapshot.readAs, options)
  report(readiness)

  const claims = readClaims(resource)
  if (claims.kind === 'bad') report([claims.finding])

  const wantedName = options.naming.replaceAll('{namespace}', meta.namespace).replaceAll('{name}', meta.name)
  if (!isServerName(wantedName)) report([{ code: 'NameInvalid', wanted: wantedName }])

  const endpoints = findEndpoints(resource, walks, around, options)
  report(endpoints.findings)

  const group = groupOf(resource, around)
  report(group.findings)

  const description = take('registry-description', readDescription)
  const generates =
    options.missingDescription === 'generate' || (options.missingDescription === 'auto' && walks.length > 0)
  if (description === undefined)
    findings.push(findingOf(ref, { code: 'DescriptionMissing' }, generates ? 'degraded' : 'skipped'))

  // What is not ready yet may have been listed before: then its remotes stay for the grace.
  const isReady = !readiness.some(({ code }) => code === 'NotReady')
  const candidate: Candidate = {
    ref,
    createdAt: meta.createdAt,
    uid: meta.uid,
    image: resource.image,
    wantedName,
    title: take('registry-title', readTitle),
    description: description ?? `${kind} ${meta.name} in namespace ${meta.namespace}`.slice(0, MAX_TEXT),
    version:
      take('registry-version', (holder) =>
        readVersion(holder, options.versionFrom === 'image' ? resource.image : undefined),
      ) ?? '1.0.0',
    icon: take('registry-icon', readIcon),
    remotes: isReady ? endpoints.remotes : [],
    pending: isReady ? endpoints.pending : [...endpoints.pending, ...waysOf(endpoints.remotes)],
    tier: take('registry-tier', readTier),
    tags: take('registry-category', readTags),
    tools: take('tools', () => readTools(resource)),
    toolDefinitions: take('tool-definitions', () => readToolDefinitions(resource)),
    group: group.value,
    claims: claims.kind === 'claims' ? claims.claims : undefined,
  }
  const isBarred = findings.some(
    ({ effect, class: findingClass }) => effect === 'skipped' && findingClass !== 'pending',
  )
  return { candidates: isBarred ? [] : [candidate], findings }
}
