import {
  GATEWAY_GROUP,
  type GroupKind,
  type HttpRoute,
  type Listener,
  type ListenerStatus,
} from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import type { RouteCode } from '../../model/route-codes.ts'
import { join, obstacle, type Step, stopped, warning } from './diagnostic.ts'
import type { Parent } from './find-parent.ts'
import { intersectHosts } from './hostnames.ts'
import { type Landscape, nameOf } from './landscape.ts'
import { admitsNamespace } from './namespace-policy.ts'
import { conditionOf } from './parents.ts'

export type Scheme = 'https' | 'http'

/** A listener that carries the route, with the host patterns that both allow. */
export type Attachment = {
  readonly parent: Parent
  readonly listener: Listener
  readonly scheme: Scheme
  /** Each route hostname that the listener takes (empty: any), and what the two have in common. */
  readonly hosts: readonly { readonly own: string; readonly common: string }[]
}

const isHttpRoute = ({ group, kind }: GroupKind): boolean => group === GATEWAY_GROUP && kind === 'HTTPRoute'

const schemeOf = ({ protocol, tlsMode }: Listener, status: ListenerStatus | undefined): Scheme | undefined => {
  if (protocol === 'HTTP') return 'http'
  if (tlsMode !== 'Terminate') return undefined
  if (protocol === 'HTTPS') return 'https'
  // The specification leaves open whether HTTPRoutes attach to TLS listeners: only where the controller says so.
  return protocol === 'TLS' && status?.supportedKinds?.some(isHttpRoute) ? 'https' : undefined
}

const takesHttpRoutes = ({ kinds }: Listener, status: ListenerStatus | undefined): boolean =>
  (kinds.length === 0 || kinds.some(isHttpRoute)) &&
  (status?.supportedKinds === undefined || status.supportedKinds.some(isHttpRoute))

/** What the status of a listener says against it. */
const healthOf = (
  { owner, gateway }: Parent,
  status: ListenerStatus | undefined,
): RouteCode | 'unknown' | undefined => {
  if (status === undefined) {
    if (owner.kind === 'ListenerSet') return 'ListenerNotAccepted'
    const programmed = conditionOf(gateway.conditions, 'Programmed')?.status
    return programmed === undefined || programmed === 'True' ? 'unknown' : 'ListenerNotProgrammed'
  }
  const is = (type: string): string | undefined => conditionOf(status.conditions, type)?.status
  if (is('Conflicted') === 'True') return 'ListenerConflicted'
  if (is('Accepted') !== undefined && is('Accepted') !== 'True') return 'ListenerNotAccepted'
  if (is('Programmed') === undefined) return is('ResolvedRefs') === 'False' ? 'ListenerNotProgrammed' : undefined
  return is('Programmed') === 'True' ? undefined : 'ListenerNotProgrammed'
}

const attachToListener = (
  route: HttpRoute,
  parent: Parent,
  listener: Listener,
  isOnly: boolean,
  landscape: Landscape,
): Step<Attachment> => {
  const { owner } = parent
  const at = `listener ${printable(listener.name)} of ${owner.kind} ${nameOf(owner)}`
  const status = owner.listenerStatus.get(listener.name)
  const scheme = schemeOf(listener, status)
  if (scheme === undefined)
    return stopped(obstacle('listener', 'ListenerProtocolMismatch', at, printable(listener.protocol)))
  if (!takesHttpRoutes(listener, status)) return stopped(obstacle('listener', 'RouteKindNotAllowed', at))
  const admitted = admitsNamespace(listener.namespaces, route.meta.namespace, owner.meta.namespace, landscape)
  if (admitted === 'no') return stopped(obstacle('listener', 'NamespaceNotAllowed', at, route.meta.namespace))
  // Where Namespaces may not be read at all, Accepted can only speak of the one listener that there is.
  if (admitted === 'unknown' && !(isOnly && landscape.isDenied('Namespace')))
    return stopped(obstacle('listener', 'NamespaceUnknown', at, route.meta.namespace))
  const isAssumed = !owner.hasStatus && landscape.readAs === 'manifests'
  const health = isAssumed ? undefined : healthOf(parent, status)
  if (health !== undefined && health !== 'unknown') return stopped(obstacle('listener', health, at))
  const hosts = intersectHosts(listener.hostname, route.hostnames, at)
  return {
    found: hosts.found.length > 0 ? [{ parent, listener, scheme, hosts: hosts.found }] : [],
    obstacles: hosts.obstacles,
    warnings: health === 'unknown' && !parent.isAssumed ? [warning('ListenerStatusUnknown', at)] : [],
  }
}

/** Which listeners of a parent carry the route. */
export const attachToListeners = (
  route: HttpRoute,
  parent: Parent,
  at: string,
  landscape: Landscape,
): Step<Attachment> => {
  const { sectionName, port } = parent.ref
  const relevant = parent.owner.listeners.filter(
    (listener) =>
      (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
  )
  if (relevant.length === 0)
    return stopped(obstacle('listener', 'ListenerNotMatched', at, `${parent.owner.kind} ${nameOf(parent.owner)}`))
  const steps = relevant.map((listener): Step<Attachment> => {
    const step = attachToListener(route, parent, listener, relevant.length === 1, landscape)
    return { ...step, obstacles: step.obstacles.map((stop) => ({ ...stop, listener: listener.name })) }
  })
  return join(steps)
}
