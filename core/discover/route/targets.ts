import type { Transport } from '../../model/entry.ts'
import type { FindingDetail } from '../../model/finding.ts'
import type { HttpRoute, Rewrite } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { namesUrl } from '../direct-remote.ts'
import { readTransport } from '../transport.ts'
import { type Backend, findBackend } from './backends.ts'
import { join, obstacle, type Step, warning } from './diagnostic.ts'
import { fullNameOf, type Landscape } from './landscape.ts'
import type { PathTable } from './path-table.ts'
import { findPaths, isPath, primaryMethod, type RoutePath, strips, tableOf, transportPath } from './paths.ts'

/** A path to publish, and the matched one, which is used where it leads elsewhere. `isWanted` by `registry-path`. */
export type TargetPath = {
  readonly path: string
  readonly matched: string
  readonly match: number
  readonly isWanted?: true
}

/** A rule that leads to an MCP resource, and the paths under which it is reached. */
export type Target = {
  readonly rule: number
  readonly backend: Backend
  readonly transport: Transport
  readonly paths: readonly TargetPath[]
}

type Winner = (path: string, method: string) => number | undefined

export const endpointOf = (transport: Transport): string => (transport === 'sse' ? '/sse' : '/mcp')

/** Which path of a backend's own a client should be sent to, by `discovery.endpoint`. */
const choosePath = (
  found: RoutePath,
  rewrite: Rewrite,
  rule: number,
  transport: Transport,
  table: PathTable<number>,
  landscape: Landscape,
): Step<TargetPath> => {
  const { path: matched, match } = found
  if (landscape.options.endpoint === 'base')
    return { found: [{ path: matched, matched, match }], obstacles: [], warnings: [] }
  const reached = transportPath(found, rewrite, endpointOf(transport))
  const isOwn = reached !== undefined && table.winner(reached, primaryMethod(transport)) === rule
  const warnings = isOwn ? [] : [warning('EndpointPathUnreachable', `rules[${rule}]`, matched, endpointOf(transport))]
  return { found: [{ path: isOwn ? reached : matched, matched, match }], obstacles: [], warnings }
}

/** `registry-path` takes the place of the matched paths of the resource whose rule answers it. */
const overridePath = (route: HttpRoute, winner: Winner, step: Step<Target>): Step<Target> => {
  const wanted = route.meta.annotations.get('registry-path')
  if (wanted === undefined || step.found.every(({ paths }) => paths.length === 0)) return step
  const path = typeof wanted === 'string' && isPath(wanted) ? wanted : undefined
  const target =
    path === undefined
      ? undefined
      : step.found.find(
          ({ rule, transport, paths }) => paths.length > 0 && winner(path, primaryMethod(transport)) === rule,
        )
  if (target === undefined || path === undefined) {
    return {
      ...step,
      warnings: [
        ...step.warnings,
        warning(
          'EndpointPathUnreachable',
          'registry-path',
          typeof wanted === 'string' ? printable(wanted) : typeof wanted,
        ),
      ],
    }
  }
  const isSame = (each: Target): boolean => each.backend.resource === target.backend.resource
  const replaced = new Set(step.found.filter(isSame).map(({ rule }) => `rules[${rule}]`))
  const isMoot = (detail: FindingDetail): boolean =>
    detail.code === 'EndpointPathUnreachable' && replaced.has(detail.at)
  const found = step.found.map((each) =>
    isSame(each)
      ? {
          ...each,
          paths:
            each === target ? each.paths.slice(0, 1).map((first) => ({ ...first, path, isWanted: true as const })) : [],
        }
      : each,
  )
  return { ...step, found, warnings: step.warnings.filter((detail) => !isMoot(detail)) }
}

/** Which rules lead to MCP resources, and under which paths. */
export const findTargets = (route: HttpRoute, landscape: Landscape): Step<Target> => {
  const table = tableOf(route)
  const steps = route.rules.map((rule, index): Step<Target> => {
    const at = `rules[${index}]`
    const { found, obstacles, warnings } = findBackend(route, rule, at, landscape)
    const [backend] = found
    if (backend === undefined) return { found: [], obstacles, warnings }
    const { resource } = backend
    const name = fullNameOf(resource)
    if (namesUrl(resource.meta.annotations)) {
      return {
        found: [{ rule: index, backend, transport: 'streamable-http', paths: [] }],
        obstacles: [...obstacles, obstacle('backend', 'DirectUrlOverrides', at, name)],
        warnings,
      }
    }
    const read = readTransport(resource)
    const transport = read.kind === 'transport' ? read.transport : 'streamable-http'
    const rewrite = backend.rewrite.kind === 'none' ? rule.rewrite : backend.rewrite
    const paths = findPaths(rule, index, table, primaryMethod(transport))
    const chosen = join(paths.found.map((path) => choosePath(path, rewrite, index, transport, table, landscape)))
    const isLost =
      transport === 'sse' &&
      resource.kind === 'MCPServer' &&
      !resource.knowsItsPrefix &&
      paths.found.some(({ path }) => strips(rewrite, path))
    return {
      found: [{ rule: index, backend, transport, paths: chosen.found }],
      obstacles: [...obstacles, ...paths.obstacles],
      warnings: [
        ...warnings,
        ...paths.warnings,
        ...chosen.warnings,
        ...(isLost ? [warning('SseEndpointPrefixMismatch', at, name)] : []),
      ],
    }
  })
  return overridePath(route, table.winner, join(steps))
}
