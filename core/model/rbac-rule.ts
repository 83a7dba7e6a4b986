import { compareText } from './order.ts'
import type { Denial } from './snapshot.ts'

export const resourceName = ({ group, resource }: Pick<Denial, 'group' | 'resource'>): string =>
  group === '' ? resource : `${resource}.${group}`

/** What was not allowed, as a sentence has it: `list services in namespace team-a`. */
export const renderDenial = (denial: Denial): string =>
  `${denial.verb} ${resourceName(denial)} ${denial.namespace === '' ? 'in all namespaces' : `in namespace ${denial.namespace}`}`

/** The line of a Role or ClusterRole that allows it. Who lists also watches, so one role serves both. */
const ruleOf = ({ group, resource, verb }: Denial): string =>
  `{ apiGroups: ["${group}"], resources: ["${resource}"], verbs: [${verb === 'get' ? '"get"' : '"get", "list", "watch"'}] }`

/** One rule for each resource, and for a Role the namespaces it is needed in. */
export const rbacRules = (denials: readonly Denial[]): readonly string[] => {
  const byRule = Map.groupBy(denials, ruleOf)
  return [...byRule]
    .map(([rule, denied]) => {
      const namespaces = [...new Set(denied.map(({ namespace }) => namespace).filter((name) => name !== ''))]
      return namespaces.length === 0 ? rule : `${rule} in namespace ${namespaces.sort(compareText).join(', ')}`
    })
    .sort(compareText)
}
