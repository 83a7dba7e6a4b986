import { readFileSync } from 'node:fs'
import { parse, parseAllDocuments } from 'yaml'
import { STAGES } from '../../adapters/cluster/kinds.ts'
import type { Admin } from './admin.ts'
import { ownCrds } from './install-crds.ts'
import type { Place } from './objects.ts'

export type Rule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** One resource that a rule allows something with. */
export type Resource = { readonly group: string; readonly resource: string }

const RBAC = 'rbac.authorization.k8s.io/v1'
const PLURALS = new Map(ownCrds().map(({ spec }) => [spec.names.kind, spec.names.plural]))

/** What the API server calls the objects of each kind that is read. */
export const RESOURCES = new Map(
  STAGES.flat().map((kind) => [
    kind.kind,
    { ...kind, resource: kind.resource ?? PLURALS.get(kind.kind) ?? '', version: kind.versions[0] ?? '' },
  ]),
)

/** The rules of a role that the project ships. */
export const shippedRules = (folder: string): readonly Rule[] => {
  const file = new URL(`../../infra/kubernetes/roles/${folder}/role.yaml`, import.meta.url)
  const objects = [...parseAllDocuments(readFileSync(file, 'utf8'))].map(
    (document): { readonly rules?: readonly Rule[] } => document.toJS(),
  )
  return objects.flatMap(({ rules = [] }) => rules)
}

/** A line for each single right, so that roles can be compared however they are written. */
export const rightsIn = (rules: readonly Rule[]): readonly string[] =>
  rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    )
    .sort()

export const resourcesIn = (rules: readonly Rule[]): readonly Resource[] =>
  rules.flatMap(({ apiGroups, resources }) =>
    apiGroups.flatMap((group) => resources.map((resource) => ({ group, resource }))),
  )

/** The same rules but for one resource. */
export const without = (rules: readonly Rule[], { group, resource }: Resource): readonly Rule[] =>
  rules
    .map((rule) =>
      rule.apiGroups.includes(group)
        ? { ...rule, resources: rule.resources.filter((each) => each !== resource) }
        : rule,
    )
    .filter(({ resources }) => resources.length > 0)

export type Granted = { readonly change: (rules: readonly Rule[]) => Promise<unknown> }

/** Gives an account rights in one namespace, or in all. */
export const grant = async (
  admin: Admin,
  account: Place,
  rules: readonly Rule[],
  namespace?: string,
): Promise<Granted> => {
  const prefix = namespace === undefined ? 'Cluster' : ''
  const [roles, bindings] = [`${prefix}role`, `${prefix}rolebinding`].map((each) => `${each.toLowerCase()}s`)
  const metadata = { generateName: `${account.name}-`, ...(namespace !== undefined && { namespace }) }
  const kind = `${prefix}Role`
  const role = await admin.create(RBAC, roles ?? '', { kind, metadata, rules })
  await admin.create(RBAC, bindings ?? '', {
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role.metadata.name },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  })
  const place = { name: role.metadata.name, namespace }
  return { change: (next) => admin.patch(RBAC, roles ?? '', place, { rules: next }) }
}

/** The rules that a message tells people to add, each with the namespaces of its Role; none: a ClusterRole. */
export const advisedRules = (
  message: string,
): readonly { readonly rule: Rule; readonly namespaces: readonly string[] }[] =>
  [...message.matchAll(/(\{ apiGroups: [^}]*\})(?: in namespace ([a-z0-9-]+(?:, [a-z0-9-]+)*))?/g)].map(
    ([, rule = '', namespaces]) => ({ rule: parse(rule), namespaces: namespaces?.split(', ') ?? [] }),
  )
