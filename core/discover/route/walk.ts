import type { FindingDetail } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { isWildcard } from '../../model/host-pattern.ts'
import { printable } from '../../model/printable.ts'
import type { Attached, PendingAttachment } from './attach.ts'
import type { Competition } from './competition.ts'
import { join, type Obstacle, obstacle, type Step, warning } from './diagnostic.ts'
import { findHosts, type Host, type Siblings } from './hosts.ts'
import { type Landscape, nameOf } from './landscape.ts'
import type { Attachment } from './listeners.ts'
import { primaryMethod } from './paths.ts'
import { endpointOf, findTargets, type Target, type TargetPath } from './targets.ts'
import { type RouteEndpoint, urlOf } from './url.ts'

/** A host, or a pattern where the name is the Gateway's to give. */
export type PendingHost = PendingAttachment & { readonly hostPattern: string }

/** A precise name must still be reached; what stands for a pattern may be unknown for the moment. */
const pendingHostsOf = (
  waiting: PendingAttachment,
  siblings: Siblings,
  landscape: Landscape,
): readonly PendingHost[] => {
  const reached = new Set(findHosts(waiting.attachment, siblings, landscape).found.map(({ host }) => host))
  return waiting.attachment.hosts.flatMap(({ common }) =>
    common === '' || isWildcard(common) || reached.has(common) ? [{ ...waiting, hostPattern: common }] : [],
  )
}

/** All of a route's ways: how far each came, and the URLs at the end. */
export type RouteWalk = {
  readonly route: HttpRoute
  readonly attachments: readonly Attachment[]
  readonly hosts: readonly Host[]
  readonly targets: readonly Target[]
  readonly endpoints: readonly RouteEndpoint[]
  /** Where the route would be reached but for something that passes by itself, and parents of which nothing is known. */
  readonly pending: readonly PendingHost[]
  readonly unread: readonly string[]
  readonly obstacles: readonly Obstacle[]
  readonly warnings: readonly FindingDetail[]
}

/** One host and one path: a URL, unless another route answers there. */
const meet = (
  host: Host,
  target: Target,
  { path, matched, match, isWanted }: TargetPath,
  route: HttpRoute,
  competition: Competition,
  landscape: Landscape,
): Step<RouteEndpoint> => {
  const answers = (each: string): HttpRoute =>
    competition(host.attachment, host.host, each, primaryMethod(target.transport)) ?? route
  const winner = answers(path)
  const isFallback = winner !== route && path !== matched && answers(matched) === route
  const taken = isFallback ? matched : path
  const lost = isWanted
    ? warning('EndpointPathUnreachable', 'registry-path', path)
    : warning('EndpointPathUnreachable', `rules[${target.rule}]`, matched, endpointOf(target.transport))
  const at = `rules[${target.rule}].matches[${match}]`
  const order = target.rule * 100_000 + match
  if (winner !== route && !isFallback)
    return {
      found: [],
      obstacles: [
        { ...obstacle('match', 'ShadowedByRoute', at, `${host.host}${path}`, `HTTPRoute ${nameOf(winner)}`), order },
      ],
      warnings: [],
    }
  const endpoint = urlOf(host, taken, route, target.backend.resource, landscape.options)
  if (endpoint === undefined)
    return {
      found: [],
      obstacles: [{ ...obstacle('match', 'InvalidPath', at, printable(`${host.host}${taken}`)), order }],
      warnings: [],
    }
  return {
    found: [endpoint],
    obstacles: [],
    warnings: isFallback ? [lost] : [],
  }
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
  const met = join(
    hosts.found.flatMap((host) =>
      targets.found.flatMap((target) =>
        target.paths.map((path) => meet(host, target, path, route, competition, landscape)),
      ),
    ),
  )
  return {
    route,
    attachments: attached.found,
    hosts: hosts.found,
    targets: targets.found,
    endpoints: met.found,
    pending: attached.pending.flatMap((waiting) => pendingHostsOf(waiting, siblings, landscape)),
    unread: attached.unread,
    obstacles: [...attached.obstacles, ...hosts.obstacles, ...targets.obstacles, ...met.obstacles],
    warnings: [...attached.warnings, ...hosts.warnings, ...targets.warnings, ...met.warnings],
  }
}
