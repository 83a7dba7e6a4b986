import { GATEWAY_GROUP, type Gateway, type ListenerSet, type ParentRef } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { obstacle, type Step, stopped, warning } from './diagnostic.ts'
import type { Landscape } from './landscape.ts'
import { hasGateway } from './listener-set.ts'

/** A parent of a route: the Gateway behind it, and whose listeners the route may attach to. */
export type Parent = {
  readonly ref: ParentRef
  readonly gateway: Gateway
  readonly owner: Gateway | ListenerSet
  /** The listeners of its Gateway are a guess, which was said already. */
  readonly isAssumed: boolean
}

type Place = { readonly kind: string; readonly namespace: string; readonly name: string }
export const placeName = ({ kind, namespace, name }: Place): string => printable(`${kind} ${namespace}/${name}`, 200)

/** A Gateway that files do not have, or have without listeners: https on 443, open to everyone. */
const assumedGateway = (
  { namespace, name }: Place,
  sectionName: string | undefined,
  known: Gateway | undefined,
): Gateway => ({
  kind: 'Gateway',
  meta: {
    namespace,
    name,
    uid: undefined,
    createdAt: undefined,
    terminating: false,
    labels: new Map(),
    annotations: new Map(),
  },
  className: '',
  isDefault: false,
  allowedListeners: { from: 'All', selector: undefined },
  addresses: [],
  clientCertificates: { everywhere: false, ports: new Map() },
  conditions: [],
  listenerStatus: new Map(),
  hasStatus: false,
  ...known,
  listeners: [
    {
      name: sectionName ?? 'https',
      hostname: '',
      port: 443,
      protocol: 'HTTPS',
      tlsMode: 'Terminate',
      kinds: [],
      namespaces: { from: 'All', selector: undefined },
    },
  ],
})

const findGateway = (
  place: Place,
  sectionName: string | undefined,
  at: string,
  landscape: Landscape,
): Step<{ readonly gateway: Gateway; readonly isAssumed: boolean }> => {
  const gateway = landscape.gateways.get(`${place.namespace}/${place.name}`)
  if (gateway === undefined && landscape.isUnreadable('Gateway', place.namespace, place.name))
    return stopped(obstacle('parent', 'ParentUnreadable', at, placeName(place)))
  if (landscape.readAs === 'manifests' && (gateway === undefined || gateway.listeners.length === 0)) {
    const assumed = assumedGateway(place, sectionName, gateway)
    return {
      found: [{ gateway: assumed, isAssumed: true }],
      obstacles: [],
      warnings: [warning('GatewayAssumed', at, placeName(place))],
    }
  }
  if (gateway === undefined) return stopped(obstacle('parent', 'GatewayNotFound', at, placeName(place)))
  return { found: [{ gateway, isAssumed: false }], obstacles: [], warnings: [] }
}

/** The Gateway or ListenerSet that a route names. */
export const findParent = (ref: ParentRef, at: string, landscape: Landscape): Step<Parent> => {
  const isOurs = ref.group === GATEWAY_GROUP && (ref.kind === 'Gateway' || ref.kind === 'ListenerSet')
  if (!isOurs) return stopped(obstacle('parent', 'ParentKindUnsupported', at, placeName(ref)))
  if (ref.kind === 'Gateway') {
    const step = findGateway(ref, ref.sectionName, at, landscape)
    return { ...step, found: step.found.map(({ gateway, isAssumed }) => ({ ref, gateway, owner: gateway, isAssumed })) }
  }
  const owner = landscape.listenerSets.get(`${ref.namespace}/${ref.name}`)
  if (owner === undefined) {
    const isUnreadable = landscape.isUnreadable('ListenerSet', ref.namespace, ref.name)
    return stopped(obstacle('parent', isUnreadable ? 'ParentUnreadable' : 'ListenerSetNotFound', at, placeName(ref)))
  }
  if (!hasGateway(owner)) return stopped(obstacle('parent', 'GatewayNotFound', at, placeName(owner.parent)))
  const step = findGateway(owner.parent, undefined, at, landscape)
  return { ...step, found: step.found.map(({ gateway, isAssumed }) => ({ ref, gateway, owner, isAssumed })) }
}
