import type { FindingDetail } from '../model/finding.ts'
import { selects } from '../model/selector.ts'
import type { McpResource, Scope } from '../model/snapshot.ts'

/** Why a resource is not one of those that its source takes. */
export const notSelected = ({ meta }: McpResource, scope: Scope): FindingDetail | undefined => {
  if (scope.namespaces.length > 0 && !scope.namespaces.includes(meta.namespace))
    return { code: 'NotSelected', by: 'namespaces' }
  return selects(scope.labelSelector, meta.labels) ? undefined : { code: 'NotSelected', by: 'labelSelector' }
}
