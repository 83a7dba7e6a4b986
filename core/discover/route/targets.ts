import type { Transport } from '../../model/entry.ts'
import type { FindingDetail } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { namesUrl } from '../direct-remote.ts'
import { readTransport } from '../transport.ts'
import { type Backend, findBackend } from './backends.ts'
import { join, obstacle, type Step, warning } from './diagnostic.ts'
import type { Landscape } from './landscape.ts'
import { findPaths, isPath, primaryMethod, type RoutePath, tableOf, transportPath } from './paths.ts'

/** A rule that leads to an MCP resource, and the paths under which it is reached. */
export type Target = {
  readonly rule: number
  readonly backend: Backend
  readonly transport: Transport
  readonly paths: readonly string[]
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
export const findTargets = (route: HttpRoute, landscape: Landscape): Step<Target> => {
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
