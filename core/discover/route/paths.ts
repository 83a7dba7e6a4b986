import type { Transport } from '../../model/entry.ts'
import type { HttpRoute, Rewrite, RouteMatch, RouteRule } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { type Obstacle, obstacle, type Step, warning } from './diagnostic.ts'
import { createPathTable, type PathTable, withoutSlash } from './path-table.ts'

/** A path under which a rule is reached, and the match that it comes from. */
export type RoutePath = { readonly path: string; readonly pathType: string; readonly match: number }

/** Clients of a transport begin with this method. */
export const primaryMethod = (transport: Transport): string => (transport === 'sse' ? 'GET' : 'POST')

const PATH = /^\/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$/
const FORBIDDEN = /\/\/|\/\.\.?(\/|$)|%2[fF]/

/** A path that a client can send and that arrives as it was written: the URL parser must not change it. */
export const isPath = (path: string): boolean =>
  PATH.test(path) && !FORBIDDEN.test(path) && URL.parse(`https://host${path}`)?.pathname === path

/** Which rule of a route answers a plain request; the first among equals. */
export const tableOf = (route: HttpRoute): PathTable<number> => {
  const table = createPathTable<number>((a, b) => a < b)
  for (const [index, { matches }] of route.rules.entries()) for (const match of matches) table.add(match, index)
  return table
}

const obstacleOf = (match: RouteMatch, at: string, method: string): Obstacle | undefined => {
  if (match.pathType === 'RegularExpression') return obstacle('match', 'PathRegex', at, printable(match.path))
  if (match.pathType !== 'Exact' && match.pathType !== 'PathPrefix')
    return obstacle('match', 'PathTypeUnsupported', at, printable(match.pathType))
  if (!isPath(match.path)) return obstacle('match', 'InvalidPath', at, printable(match.path))
  if (match.needsHeader) return obstacle('match', 'RequiresHeader', at)
  if (match.needsQueryParam) return obstacle('match', 'RequiresQueryParam', at)
  return match.method !== undefined && match.method !== method
    ? obstacle('match', 'RequiresMethod', at, printable(match.method))
    : undefined
}

/** A prefix is reached without its last slash; with it only where the other form belongs to somebody else. */
const formsOf = ({ pathType, path }: RouteMatch): readonly string[] =>
  pathType === 'Exact' ? [path] : [...new Set([withoutSlash(path), path])]

/** Under which paths a plain client reaches a rule. */
export const findPaths = (
  rule: RouteRule,
  index: number,
  table: PathTable<number>,
  method: string,
): Step<RoutePath> => {
  const found: RoutePath[] = []
  const obstacles: Obstacle[] = []
  const warnings = []
  for (const [position, match] of rule.matches.entries()) {
    const at = `rules[${index}].matches[${position}]`
    const order = index * 100_000 + position
    const stop = obstacleOf(match, at, method)
    const path = formsOf(match).find((form) => table.winner(form, method) === index)
    if (stop !== undefined) obstacles.push({ ...stop, order })
    else if (path === undefined)
      obstacles.push({ ...obstacle('match', 'ShadowedByRule', at, printable(match.path)), order })
    else {
      found.push({ path, pathType: match.pathType, match: position })
      if (match.method !== undefined) warnings.push(warning('MethodRestricted', at, match.method))
    }
  }
  return { found, obstacles, warnings }
}

const isPrefix = (prefix: string, path: string): boolean =>
  prefix === '/' || path === withoutSlash(prefix) || path.startsWith(`${withoutSlash(prefix)}/`)

const append = (prefix: string, rest: string): string =>
  rest === '' ? prefix : `${prefix === '/' ? '' : withoutSlash(prefix)}${rest}`

/** Where a client reaches the path `endpoint` of a backend, through the inverse of the rewrite; nowhere is an answer. */
export const transportPath = (
  { path, pathType }: RoutePath,
  rewrite: Rewrite,
  endpoint: string,
): string | undefined => {
  if (rewrite.kind === 'full') return rewrite.value === endpoint ? path : undefined
  if (pathType === 'Exact') return rewrite.kind === 'none' && path === endpoint ? path : undefined
  if (rewrite.kind === 'none') return isPrefix(path, endpoint) ? endpoint : undefined
  if (!isPrefix(rewrite.value, endpoint)) return undefined
  return append(path, rewrite.value === '/' ? endpoint : endpoint.slice(withoutSlash(rewrite.value).length))
}

/** Does the backend see another prefix than the client sent? */
export const strips = (rewrite: Rewrite, path: string): boolean =>
  rewrite.kind === 'full' || (rewrite.kind === 'prefix' && withoutSlash(rewrite.value) !== withoutSlash(path))
