import type { Candidate } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { compareText } from '../model/order.ts'
import { rbacRules } from '../model/rbac-rule.ts'
import { type ResourceRef, sourceSubject } from '../model/resource.ts'
import type { McpResource, Snapshot } from '../model/snapshot.ts'
import { examine, indexAuthConfigs, type Surroundings } from './examine.ts'
import { readOptIn } from './opt-in.ts'
import type { DiscoveryOptions } from './options.ts'
import { discoverRoutes } from './route/discover-routes.ts'
import { nameOf } from './route/landscape.ts'
import type { RouteWalk } from './route/walk.ts'
import type { ResourceWalk } from './routed-remotes.ts'
import { notSelected } from './scope.ts'

/** What a cluster offers to a registry, what its owners should know, and how each exported route was followed. */
export type Discovery = {
  readonly candidates: readonly Candidate[]
  readonly findings: readonly Finding[]
  readonly walks: readonly RouteWalk[]
}

/** What each walk has for each resource that it leads to, the routes in the order of their names. */
const walksByResource = (walks: readonly RouteWalk[]): ReadonlyMap<McpResource, readonly ResourceWalk[]> => {
  const found = new Map<McpResource, ResourceWalk[]>()
  for (const walk of [...walks].sort((a, b) => compareText(nameOf(a.route), nameOf(b.route)))) {
    const endpoints = Map.groupBy(walk.endpoints, ({ resource }) => resource)
    for (const [resource, targets] of Map.groupBy(walk.targets, ({ backend }) => backend.resource)) {
      const own = {
        walk,
        endpoints: endpoints.get(resource) ?? [],
        // Either may have been published: the matched one where the other led elsewhere.
        paths: targets.flatMap(({ paths }) => paths.flatMap(({ path, matched }) => [path, matched])),
      }
      const known = found.get(resource)
      if (known === undefined) found.set(resource, [own])
      else known.push(own)
    }
  }
  return found
}

/** Kinds that could not be read whole are said once, about the source. */
const unlistedKinds = ({ source, unlisted, denials }: Snapshot): readonly Finding[] =>
  [...unlisted].map(([kind, state]) => {
    if (state === 'notInstalled') return findingOf(sourceSubject(source), { code: 'KindNotInstalled', kind })
    const rules = rbacRules(denials.filter((denial) => denial.kind === kind))
    return findingOf(sourceSubject(source), { code: 'KindDenied', kind, ...(rules.length > 0 && { rules }) })
  })

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
