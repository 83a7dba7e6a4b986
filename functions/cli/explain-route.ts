import { decisiveOf } from '../../core/discover/route/diagnostic.ts'
import type { RouteWalk } from '../../core/discover/route/walk.ts'

const row = (step: string, text: string): string => `  ${step.padEnd(9)} ${text}`

/** The way from a route to its URLs, step by step, and where it stopped. */
export const walkLines = ({
  route,
  attachments,
  hosts,
  targets,
  endpoints,
  obstacles,
}: RouteWalk): readonly string[] => {
  const parents = new Set(
    attachments.map(({ parent }) => `${parent.owner.kind} ${parent.owner.meta.namespace}/${parent.owner.meta.name}`),
  )
  const listeners = attachments.map(
    ({ parent, listener }) =>
      `${listener.name} of ${parent.owner.kind} ${parent.owner.meta.namespace}/${parent.owner.meta.name} (${listener.protocol}, port ${listener.port})`,
  )
  const backends = targets.map(({ rule, backend }) => `Service ${backend.service} (rules[${rule}])`)
  const owners = targets.map(
    ({ backend: { resource } }) => `${resource.kind}/${resource.meta.namespace}/${resource.meta.name}`,
  )
  const stop = endpoints.length > 0 ? undefined : decisiveOf(obstacles, hosts.length > 0)
  return [
    row('route', `HTTPRoute/${route.meta.namespace}/${route.meta.name}`),
    ...[...parents].map((parent) => row('parent', parent)),
    ...[...new Set(listeners)].map((listener) => row('listener', listener)),
    ...[...new Set(hosts.map(({ host }) => host))].map((host) => row('host', host)),
    ...targets.flatMap(({ rule, paths }) => paths.map((path) => row('path', `${path} (rules[${rule}])`))),
    ...[...new Set(backends)].map((backend) => row('backend', backend)),
    ...[...new Set(owners)].map((owner) => row('owner', owner)),
    ...[...new Set(endpoints.map(({ url }) => url))].map((url) => row('url', url)),
    ...(stop === undefined ? [] : [row('stopped', `at the ${stop.stage}`)]),
  ]
}
