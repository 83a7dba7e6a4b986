import { decisiveOf, STAGES } from '../../core/discover/route/diagnostic.ts'
import type { RouteWalk } from '../../core/discover/route/walk.ts'
import { withoutOutshone } from '../../core/model/outshone.ts'
import { printable } from '../../core/model/printable.ts'

/** Names in a route and a Gateway are text of others. */
const rows = (step: string, texts: readonly string[]): readonly string[] =>
  [...new Set(texts)].map((text) => `  ${step.padEnd(9)} ${printable(text, 300)}`)

/** The URLs that a route gives, without http where https leads to the same place. */
export const urlsOf = ({ endpoints }: RouteWalk): readonly string[] => [
  ...new Set(withoutOutshone(endpoints, (endpoint) => endpoint).map(({ url }) => url)),
]

/** The way from a route to its URLs, step by step, and where it stopped. */
export const walkLines = (walk: RouteWalk): readonly string[] => {
  const { route, attachments, hosts, targets, endpoints, obstacles } = walk
  const stop = endpoints.length > 0 ? undefined : decisiveOf(obstacles, hosts.length > 0)
  const stopRow = stop === undefined ? [] : rows('stopped', [`at the ${stop.stage}: ${stop.finding.code}`])
  const isOnTheWayToHost = stop !== undefined && STAGES.indexOf(stop.stage) < STAGES.indexOf('rule')
  return [
    ...rows('route', [`HTTPRoute/${route.meta.namespace}/${route.meta.name}`]),
    ...rows(
      'parent',
      route.parentRefs.map(({ kind, namespace, name, sectionName, port }) =>
        [`${kind} ${namespace}/${name}`, sectionName && `section ${sectionName}`, port && `port ${port}`]
          .filter(Boolean)
          .join(', '),
      ),
    ),
    ...rows(
      'listener',
      attachments.map(
        ({ parent: { owner }, listener }) =>
          `${listener.name} of ${owner.kind} ${owner.meta.namespace}/${owner.meta.name} (${listener.protocol}, port ${listener.port})`,
      ),
    ),
    ...rows(
      'host',
      hosts.map(({ host }) => host),
    ),
    ...(isOnTheWayToHost ? stopRow : []),
    ...rows(
      'path',
      targets.flatMap(({ rule, paths }) => paths.map(({ path }) => `${path} (rules[${rule}])`)),
    ),
    ...rows(
      'backend',
      targets.map(({ rule, backend }) => `Service ${backend.service} (rules[${rule}])`),
    ),
    ...rows(
      'owner',
      targets.map(({ backend: { resource } }) => `${resource.kind}/${resource.meta.namespace}/${resource.meta.name}`),
    ),
    ...rows('url', urlsOf(walk)),
    ...(isOnTheWayToHost ? [] : stopRow),
  ]
}
