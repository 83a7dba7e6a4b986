import {
  GATEWAY_GROUP,
  type GroupKind,
  type HttpRoute,
  type Listener,
  type ListenerStatus,
} from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import type { RouteCode } from '../../model/route-codes.ts'
import { conditionOf } from './condition.ts'
import { join, obstacle, type Step, stopped, warning } from './diagnostic.ts'
import type { Parent } from './find-parent.ts'
import { type CommonHost, intersectHosts } from './hostnames.ts'
import { fullNameOf, type Landscape } from './landscape.ts'
import { admitsNamespace } from './namespace-policy.ts'

export type Scheme = 'https' | 'http'

/** A listener that carries the route, with the host patterns that both allow. */
export type Attachment = {
  readonly parent: Parent
  readonly listener: Listener
  readonly scheme: Scheme
  readonly hosts: readonly CommonHost[]
}

/** `pending` are listeners that would carry the route but for something that passes by itself. */
export type ListenerStep = Step<Attachment> & { readonly pending: readonly Attachment[] }

const isHttpRoute = ({ group, kind }: GroupKind): boolean => group === GATEWAY_GROUP && kind === 'HTTPRoute'

const schemeOf = ({ protocol, tlsMode }: Listener, status: ListenerStatus | undefined): Scheme | undefined => {
  if (protocol === 'HTTP') return 'http'
  if (tlsMode !== 'Terminate') return undefined
  if (protocol === 'HTTPS') return 'https'
  // The specification leaves open whether HTTPRoutes attach to TLS listeners: only where the controller says so.
  return protocol === 'TLS' && status?.supportedKinds?.some(isHttpRoute) ? 'https' : undefined
}

/** Both must say so: a status may lag behind what the listener allows, or know that the controller cannot do it. */
const takesHttpRoutes = ({ kinds }: Listener, status: ListenerStatus | undefined): boolean =>
  (kinds.length === 0 || kinds.some(isHttpRoute)) && (status?.supportedKinds?.some(isHttpRoute) ?? true)

/** What the status of a listener says against it. A Gateway may be silent about one, a ListenerSet must speak for each. */
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
  if (is('Accepted') !== 'True') return 'ListenerNotAccepted'
  const isProgrammed = is('Programmed') === undefined ? is('ResolvedRefs') !== 'False' : is('Programmed') === 'True'
  return isProgrammed ? undefined : 'ListenerNotProgrammed'
}

const attachToListener = (
  route: HttpRoute,
  parent: Parent,
  listener: Listener,
  isOnly: boolean,
  landscape: Landscape,
): ListenerStep => {
  const { owner } = parent
  const at = `listener ${printable(listener.name)} of ${fullNameOf(owner)}`
  const status = owner.listenerStatus.get(listener.name)
  const scheme = schemeOf(listener, status)
  const never = (code: RouteCode, detail?: string): ListenerStep => ({
    ...stopped(obstacle('listener', code, at, detail)),
    pending: [],
  })
  if (scheme === undefined) return never('ListenerProtocolMismatch', printable(listener.protocol))
  if (!takesHttpRoutes(listener, status)) return never('RouteKindNotAllowed')
  const admitted = admitsNamespace(listener.namespaces, route.meta.namespace, owner.meta.namespace, landscape)
  if (admitted === 'no') return never('NamespaceNotAllowed', route.meta.namespace)

  const hosts = intersectHosts(listener.hostname, route.hostnames, at)
  const attachments = hosts.found.length > 0 ? [{ parent, listener, scheme, hosts: hosts.found }] : []
  const notYet = (code: RouteCode, detail?: string): ListenerStep => ({
    ...stopped(obstacle('listener', code, at, detail)),
    pending: attachments,
  })
  // Where Namespaces may not be read at all, Accepted can only speak of the one listener that there is.
  if (admitted === 'unknown' && !(isOnly && landscape.isDenied('Namespace')))
    return notYet('NamespaceUnknown', route.meta.namespace)
  const isAssumed = !owner.hasStatus && landscape.readAs === 'manifests'
  const health = isAssumed ? undefined : healthOf(parent, status)
  if (health !== undefined && health !== 'unknown') return notYet(health)
  const warnings = health === 'unknown' && !parent.isAssumed ? [warning('ListenerStatusUnknown', at)] : []
  return { found: attachments, obstacles: hosts.obstacles, warnings, pending: [] }
}

/** Which listeners of a parent carry the route. */
export const attachToListeners = (route: HttpRoute, parent: Parent, at: string, landscape: Landscape): ListenerStep => {
  const { sectionName, port } = parent.ref
  const isGuess = parent.isAssumed && parent.owner.kind === 'Gateway'
  const relevant = parent.owner.listeners.filter(
    (listener) =>
      isGuess ||
      ((sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port)),
  )
  if (relevant.length === 0)
    return {
      ...stopped(obstacle('listener', 'ListenerNotMatched', at, fullNameOf(parent.owner))),
      pending: [],
    }
  const steps = relevant.map((listener) => attachToListener(route, parent, listener, relevant.length === 1, landscape))
  return { ...join(steps), pending: steps.flatMap(({ pending }) => pending) }
}
