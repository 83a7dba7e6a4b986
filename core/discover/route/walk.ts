import type { Transport } from '../../model/entry.ts'
import { FINDING_CODES, type FindingDetail } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { namesUrl } from '../direct-remote.ts'
import { readTransport } from '../transport.ts'
import { type Backend, findBackend } from './backends.ts'
import type { Competition } from './competition.ts'
import { join, type Obstacle, obstacle, type Step, stopped, warning } from './diagnostic.ts'
import { findHosts, type Host, type Siblings } from './hosts.ts'
import { type Landscape, nameOf } from './landscape.ts'
import { type Attachment, attachToListeners } from './listeners.ts'
import { attachToParent, parentRefsOf } from './parents.ts'
import { findPaths, isPath, primaryMethod, type RoutePath, tableOf, transportPath } from './paths.ts'
import { type RouteEndpoint, urlOf } from './url.ts'

/** A rule that leads to an MCP resource, and the paths under which it is reached. */
export type Target = {
  readonly rule: number
  readonly backend: Backend
  readonly transport: Transport
  readonly paths: readonly string[]
}

/** A way to a URL that is closed by something that passes by itself. */
export type PendingWalk = { readonly parent: string; readonly listener: string | undefined }

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

export type Attached = Step<Attachment> & { readonly route: HttpRoute; readonly pending: readonly PendingWalk[] }

const isPending = (stop: Obstacle): boolean => (stop.class ?? FINDING_CODES[stop.finding.code][0]) === 'pending'

/** The parents and listeners that carry a route. Asked of every route: those that are not exported compete too. */
export const attach = (route: HttpRoute, landscape: Landscape): Attached => {
  const refs = parentRefsOf(route, landscape)
  if (refs.length === 0) return { route, pending: [], ...stopped(obstacle('route', 'NoParentRefs', 'parentRefs')) }
  const pending: PendingWalk[] = []
  const steps = refs.flatMap((ref, index): readonly Step<Attachment>[] => {
    const at = `parentRefs[${index}]`
    const parentName = `${ref.kind} ${ref.namespace}/${ref.name}`
    const parents = attachToParent(route, ref, at, landscape)
    if (parents.obstacles.some(isPending)) pending.push({ parent: parentName, listener: undefined })
    const listeners = parents.found.map((parent) => attachToListeners(route, parent, at, landscape))
    for (const { obstacles } of listeners) {
      for (const stop of obstacles)
        if (isPending(stop) && stop.listener !== undefined)
          pending.push({ parent: parentName, listener: stop.listener })
    }
    return [{ found: [], obstacles: parents.obstacles, warnings: parents.warnings }, ...listeners]
  })
  return { route, pending, ...join(steps) }
}

const endpointPathOf = (transport: Transport): string => (transport === 'sse' ? '/sse' : '/mcp')

/** Which path of a backend's own a client should be sent to, by `discovery.endpoint`. */
const finalPaths = (
  found: readonly RoutePath[],
  rule: HttpRoute['rules'][number],
  transport: Transport,
  at: string,
  landscape: Landscape,
): Step<string> => {
  if (landscape.options.endpoint === 'base')
    return { found: found.map(({ path }) => path), obstacles: [], warnings: [] }
  const warnings: FindingDetail[] = []
  const paths = found.map((path) => {
    const reached = transportPath(path, rule.rewrite, endpointPathOf(transport))
    if (reached === undefined)
      warnings.push(warning('EndpointPathUnreachable', at, `${path.path}, ${endpointPathOf(transport)}`))
    return reached ?? path.path
  })
  return { found: paths, obstacles: [], warnings }
}

const needsPrefix = ({ rewrite }: HttpRoute['rules'][number], { resource }: Backend, transport: Transport): boolean =>
  transport === 'sse' && rewrite.kind !== 'none' && resource.kind === 'MCPServer' && !resource.knowsItsPrefix

/** Which rules lead to MCP resources, and under which paths. */
const findTargets = (route: HttpRoute, landscape: Landscape): Step<Target> => {
  const table = tableOf(route)
  const steps = route.rules.map((rule, index): Step<Target> => {
    const at = `rules[${index}]`
    const { found, obstacles, warnings } = findBackend(route, rule, at, landscape)
    const [backend] = found
    if (backend === undefined) return { found: [], obstacles, warnings }
    const name = `${backend.resource.kind} ${backend.resource.meta.namespace}/${backend.resource.meta.name}`
    if (namesUrl(backend.resource.meta.annotations)) {
      return {
        found: [{ rule: index, backend, transport: 'streamable-http', paths: [] }],
        obstacles: [...obstacles, obstacle('backend', 'DirectUrlOverrides', at, name)],
        warnings,
      }
    }
    const read = readTransport(backend.resource)
    const transport = read.kind === 'transport' ? read.transport : 'streamable-http'
    const paths = findPaths(rule, index, table, primaryMethod(transport))
    const final = finalPaths(paths.found, rule, transport, at, landscape)
    const prefixed =
      paths.found.length > 0 && needsPrefix(rule, backend, transport)
        ? [warning('SseEndpointPrefixMismatch', at, name)]
        : []
    return {
      found: [{ rule: index, backend, transport, paths: final.found }],
      obstacles: [...obstacles, ...paths.obstacles],
      warnings: [...warnings, ...paths.warnings, ...final.warnings, ...prefixed],
    }
  })
  return overridePath(route, table, join(steps))
}

/** `registry-path` takes the place of the matched paths of the resource whose rule answers it. */
const overridePath = (route: HttpRoute, table: ReturnType<typeof tableOf>, step: Step<Target>): Step<Target> => {
  const wanted = route.meta.annotations.get('registry-path')
  if (wanted === undefined || step.found.every(({ paths }) => paths.length === 0)) return step
  const isUsable = typeof wanted === 'string' && isPath(wanted)
  const winner = isUsable
    ? step.found.find(
        ({ rule, transport, paths }) => paths.length > 0 && table.winner(wanted, primaryMethod(transport)) === rule,
      )
    : undefined
  if (winner === undefined || !isUsable) {
    const detail = typeof wanted === 'string' ? printable(wanted) : typeof wanted
    return { ...step, warnings: [...step.warnings, warning('EndpointPathUnreachable', 'registry-path', detail)] }
  }
  const found = step.found.map((target) => {
    if (target === winner) return { ...target, paths: [wanted] }
    return target.backend.resource === winner.backend.resource ? { ...target, paths: [] } : target
  })
  return { ...step, found }
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
