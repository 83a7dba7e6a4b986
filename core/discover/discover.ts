import type { Candidate, CandidateRemote, PendingRemotes } from '../model/candidate.ts'
import { isServerName, MAX_TEXT } from '../model/entry.ts'
import { type Finding, type FindingDetail, findingOf } from '../model/finding.ts'
import { compareText } from '../model/order.ts'
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
import { readOptIn } from './opt-in.ts'
import type { DiscoveryOptions } from './options.ts'
import { readReadiness } from './readiness.ts'
import type { FindAuthConfig } from './required-headers.ts'
import { discoverRoutes, routeSubject } from './route/discover-routes.ts'
import { nameOf } from './route/landscape.ts'
import type { RouteWalk } from './route/walk.ts'
import { pendingThrough, remotesThrough } from './routed-remotes.ts'
import { notSelected } from './scope.ts'

/** What a cluster offers to a registry, what its owners should know, and how each exported route was followed. */
export type Discovery = {
  readonly candidates: readonly Candidate[]
  readonly findings: readonly Finding[]
  readonly walks: readonly RouteWalk[]
}

type Surroundings = {
  readonly snapshot: Snapshot
  readonly groups: ReadonlySet<string>
  readonly findAuthConfig: FindAuthConfig
  /** The walks that lead to each resource, by the name of their route. */
  readonly walks: ReadonlyMap<McpResource, readonly RouteWalk[]>
}

type Endpoints = {
  readonly remotes: readonly CandidateRemote[]
  readonly pending: readonly PendingRemotes[]
  readonly findings: readonly FindingDetail[]
}

/** Where the resource is reached: its own URL wins over any route; without one, through the routes that lead to it. */
const findEndpoints = (
  resource: McpResource,
  walks: readonly RouteWalk[],
  around: Surroundings,
  options: DiscoveryOptions,
): Endpoints => {
  if (walks.length === 0 || namesUrl(resource.meta.annotations))
    return { ...readDirectRemote(resource, around.findAuthConfig, options), pending: [] }
  const routed = remotesThrough(walks, resource)
  const without =
    routed.remotes.length > 0
      ? []
      : walks.map(({ route }): FindingDetail => ({ code: 'RouteWithoutUrl', route: nameOf(route) }))
  return {
    remotes: routed.remotes,
    pending: pendingThrough(walks, resource),
    findings: [...routed.findings, ...without],
  }
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
const indexAuthConfigs = ({ source, externalAuthConfigs, unlisted, unreadable }: Snapshot): FindAuthConfig => {
  const byName = new Map(externalAuthConfigs.map((config) => [nameOf(config), config]))
  return (namespace, name) => {
    if (unlisted.get('MCPExternalAuthConfig') === 'denied') return 'denied'
    const isThere = unreadable.has(subjectKey({ source, kind: 'MCPExternalAuthConfig', namespace, name }))
    return byName.get(`${namespace}/${name}`) ?? (isThere ? 'unreadable' : 'missing')
  }
}

/** Everything that is asked of a resource that opted in; every obstacle is reported, not only the first. */
const examine = (
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
      : walks.find(({ route }) => route.meta.annotations.has(annotation))?.route
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
    pending: isReady ? endpoints.pending : [{}],
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

/** Which resources each walk leads to, the routes in the order of their names. */
const walksByResource = (walks: readonly RouteWalk[]): ReadonlyMap<McpResource, readonly RouteWalk[]> => {
  const found = new Map<McpResource, RouteWalk[]>()
  for (const walk of [...walks].sort((a, b) => compareText(nameOf(a.route), nameOf(b.route)))) {
    for (const resource of new Set(walk.targets.map(({ backend }) => backend.resource)))
      found.set(resource, [...(found.get(resource) ?? []), walk])
  }
  return found
}

/** Kinds that could not be read whole are said once, about the source. */
const unlistedKinds = ({ source, unlisted }: Snapshot): readonly Finding[] =>
  [...unlisted].map(([kind, state]) =>
    findingOf(
      { source, kind: 'Source', namespace: '', name: source },
      { code: state === 'denied' ? 'KindDenied' : 'KindNotInstalled', kind },
    ),
  )

/** Which MCP resources of a snapshot ask to be listed, with what, and why the others are not. */
export const discover = (snapshot: Snapshot, options: DiscoveryOptions): Discovery => {
  const routes = discoverRoutes(snapshot, options)
  const around: Surroundings = {
    snapshot,
    groups: new Set(snapshot.groups.map(nameOf)),
    findAuthConfig: indexAuthConfigs(snapshot),
    walks: walksByResource(routes.walks),
  }
  const candidates: Candidate[] = []
  const findings: Finding[] = [...unlistedKinds(snapshot), ...routes.findings]
  for (const resource of snapshot.resources) {
    const ref: ResourceRef = {
      source: snapshot.source,
      kind: resource.kind,
      namespace: resource.meta.namespace,
      name: resource.meta.name,
    }
    const unselected = notSelected(resource, snapshot.scope)
    const optIn = readOptIn(resource.meta.annotations, around.walks.has(resource), options)
    for (const detail of unselected === undefined ? optIn.findings : [unselected]) findings.push(findingOf(ref, detail))
    if (unselected !== undefined || !optIn.isExported) continue
    const examined = examine(resource, ref, around, options)
    candidates.push(...examined.candidates)
    for (const finding of examined.findings) findings.push(finding)
  }
  return { candidates, findings, walks: routes.walks }
}
