import type { NamespacePolicy } from '../../model/gateway.ts'
import { selects } from '../../model/selector.ts'
import type { Landscape } from './landscape.ts'

const NAME_LABEL = 'kubernetes.io/metadata.name'

/**
 * May something of `namespace` attach to what is owned by `ownerNamespace`? A selector looks at the labels of the
 * Namespace; where that cannot be read, the answer is not known, but for the label that every Namespace has.
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
  const isByName = policy.selector.every(({ key }) => key === NAME_LABEL)
  const labels = landscape.namespaceLabels.get(namespace) ?? (isByName ? new Map([[NAME_LABEL, namespace]]) : undefined)
  if (labels === undefined) return 'unknown'
  return selects(policy.selector, labels) ? 'yes' : 'no'
}
