import type { FindingDetail } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import type { Attached, PendingWalk } from './attach.ts'
import type { Competition } from './competition.ts'
import { join, type Obstacle, obstacle, type Step } from './diagnostic.ts'
import { findHosts, type Host, type Siblings } from './hosts.ts'
import { type Landscape, nameOf } from './landscape.ts'
import type { Attachment } from './listeners.ts'
import { primaryMethod } from './paths.ts'
import { findTargets, type Target } from './targets.ts'
import { type RouteEndpoint, urlOf } from './url.ts'

/** All of a route's ways: how far each came, and the URLs at the end. */
export type RouteWalk = {
  readonly route: HttpRoute
  readonly attachments: readonly Attachment[]
  readonly hosts: readonly Host[]
  readonly targets: readonly Target[]
  readonly endpoints: readonly RouteEndpoint[]
  readonly pending: readonly PendingWalk[]
  readonly obstacles: readonly Obstacle[]
  readonly warnings: readonly FindingDetail[]
}

const endpointsOf = (
  hosts: readonly Host[],
  targets: readonly Target[],
  route: HttpRoute,
  competition: Competition,
  landscape: Landscape,
): Step<RouteEndpoint> => {
  const found: RouteEndpoint[] = []
  const obstacles: Obstacle[] = []
  for (const host of hosts) {
    for (const { rule, backend, transport, paths } of targets) {
      for (const path of paths) {
        const winner = competition(host.attachment, host.host, path, primaryMethod(transport))
        const at = `rules[${rule}]`
        const endpoint = urlOf(host, path, route, backend.resource, landscape.options)
        if (winner !== undefined && winner !== route)
          obstacles.push(obstacle('match', 'ShadowedByRoute', at, `${host.host}${path}, HTTPRoute ${nameOf(winner)}`))
        else if (endpoint === undefined)
          obstacles.push(obstacle('match', 'InvalidPath', at, printable(`${host.host}${path}`)))
        else found.push(endpoint)
      }
    }
  }
  return { found, obstacles, warnings: [] }
}

/** Walks from an exported route to its URLs. Every obstacle is reported, wherever the walk ends. */
export const walkRoute = (
  { route, ...attached }: Attached,
  siblings: Siblings,
  competition: Competition,
  landscape: Landscape,
): RouteWalk => {
  const hosts = join(attached.found.map((attachment) => findHosts(attachment, siblings, landscape)))
  const targets = findTargets(route, landscape)
  const endpoints = endpointsOf(hosts.found, targets.found, route, competition, landscape)
  return {
    route,
    attachments: attached.found,
    hosts: hosts.found,
    targets: targets.found,
    endpoints: endpoints.found,
    pending: attached.pending,
    obstacles: [...attached.obstacles, ...hosts.obstacles, ...targets.obstacles, ...endpoints.obstacles],
    warnings: [...attached.warnings, ...hosts.warnings, ...targets.warnings],
  }
}
