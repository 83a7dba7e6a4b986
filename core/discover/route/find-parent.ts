import { GATEWAY_GROUP, type Gateway, type ListenerSet, type ParentRef } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { obstacle, type Step, stopped, warning } from './diagnostic.ts'
import type { Landscape } from './landscape.ts'

/** A parent of a route: the Gateway behind it, and whose listeners the route may attach to. */
export type Parent = {
  readonly ref: ParentRef
  readonly gateway: Gateway
  readonly owner: Gateway | ListenerSet
  readonly isAssumed: boolean
}

const refName = ({ kind, namespace, name }: ParentRef): string => printable(`${kind} ${namespace}/${name}`, 200)

/** A Gateway that files do not have, or have without listeners: https on 443, open to everyone. */
const assumedGateway = (ref: ParentRef, known: Gateway | undefined): Gateway => ({
  kind: 'Gateway',
  meta: {
    namespace: ref.namespace,
    name: ref.name,
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
      name: ref.sectionName ?? 'https',
      hostname: '',
      port: ref.port ?? 443,
      protocol: 'HTTPS',
      tlsMode: 'Terminate',
      kinds: [],
      namespaces: { from: 'All', selector: undefined },
    },
  ],
})

/** The Gateway or ListenerSet that a route names. */
export const findParent = (ref: ParentRef, at: string, landscape: Landscape): Step<Parent> => {
  const isOurs = ref.group === GATEWAY_GROUP && (ref.kind === 'Gateway' || ref.kind === 'ListenerSet')
  if (!isOurs) return stopped(obstacle('parent', 'ParentKindUnsupported', at, refName(ref)))
  const key = `${ref.namespace}/${ref.name}`
  if (ref.kind === 'Gateway') {
    const gateway = landscape.gateways.get(key)
    if (gateway === undefined && landscape.isUnreadable('Gateway', ref.namespace, ref.name))
      return stopped(obstacle('parent', 'ParentUnreadable', at, refName(ref)))
    if (landscape.readAs === 'manifests' && (gateway === undefined || gateway.listeners.length === 0)) {
      const assumed = assumedGateway(ref, gateway)
      return {
        found: [{ ref, gateway: assumed, owner: assumed, isAssumed: true }],
        obstacles: [],
        warnings: [warning('GatewayAssumed', at, refName(ref))],
      }
    }
    if (gateway === undefined) return stopped(obstacle('parent', 'GatewayNotFound', at, refName(ref)))
    return { found: [{ ref, gateway, owner: gateway, isAssumed: false }], obstacles: [], warnings: [] }
  }
  const owner = landscape.listenerSets.get(key)
  if (owner === undefined) {
    const isUnreadable = landscape.isUnreadable('ListenerSet', ref.namespace, ref.name)
    return stopped(obstacle('parent', isUnreadable ? 'ParentUnreadable' : 'ListenerSetNotFound', at, refName(ref)))
  }
  const isGateway = owner.parent.group === GATEWAY_GROUP && owner.parent.kind === 'Gateway'
  const gateway = isGateway ? landscape.gateways.get(`${owner.parent.namespace}/${owner.parent.name}`) : undefined
  if (gateway === undefined)
    return stopped(
      obstacle(
        'parent',
        'GatewayNotFound',
        at,
        printable(`${owner.parent.kind} ${owner.parent.namespace}/${owner.parent.name}`, 200),
      ),
    )
  return { found: [{ ref, gateway, owner, isAssumed: false }], obstacles: [], warnings: [] }
}
