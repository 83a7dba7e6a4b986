import type { NamespacePolicy } from '../../model/gateway.ts'
import { selects } from '../../model/selector.ts'
import type { Landscape } from './landscape.ts'

/**
 * May something of `namespace` attach to what is owned by `ownerNamespace`? A selector looks at the labels of the
 * Namespace; where that cannot be read, the answer is not known.
 */
export const admitsNamespace = (
  policy: NamespacePolicy,
  namespace: string,
  ownerNamespace: string,
  landscape: Landscape,
): 'yes' | 'no' | 'unknown' => {
  if (policy.from === 'All') return 'yes'
  if (policy.from === 'Same') return namespace === ownerNamespace ? 'yes' : 'no'
  if (policy.from !== 'Selector' || policy.selector === undefined) return 'no'
  if (policy.selector.length === 0) return 'yes'
  const labels = landscape.namespaceLabels.get(namespace)
  if (labels === undefined) return 'unknown'
  return selects(policy.selector, labels) ? 'yes' : 'no'
}
