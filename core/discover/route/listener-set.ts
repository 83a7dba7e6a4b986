import { GATEWAY_GROUP, type Gateway, type ListenerSet } from '../../model/gateway.ts'
import { conditionOf } from './condition.ts'
import { type Obstacle, obstacle } from './diagnostic.ts'
import { fullNameOf, type Landscape } from './landscape.ts'
import { admitsNamespace } from './namespace-policy.ts'

/** Does a ListenerSet name this Gateway as its parent? */
export const hasGateway = ({ parent }: ListenerSet): boolean =>
  parent.group === GATEWAY_GROUP && parent.kind === 'Gateway'

/** What keeps a ListenerSet from adding its listeners to a Gateway. */
export const whyNotAttached = (set: ListenerSet, gateway: Gateway, landscape: Landscape): Obstacle | undefined => {
  const at = fullNameOf(set)
  const isAccepted =
    conditionOf(set.conditions, 'Accepted')?.status === 'True' || (!set.hasStatus && landscape.readAs === 'manifests')
  const admitted = admitsNamespace(gateway.allowedListeners, set.meta.namespace, gateway.meta.namespace, landscape)
  if (admitted === 'no') return obstacle('gateway', 'ListenerSetNotAllowed', at, fullNameOf(gateway))
  // Where Namespaces may not be read at all, the controller's word counts: it has read them.
  if (admitted === 'unknown' && !(landscape.isDenied('Namespace') && isAccepted))
    return obstacle('gateway', 'NamespaceUnknown', at, set.meta.namespace)
  return isAccepted ? undefined : obstacle('gateway', 'ListenerSetNotAccepted', at)
}
