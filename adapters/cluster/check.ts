import { inParallel } from '../../core/model/in-parallel.ts'
import { isMap } from '../../core/model/is-map.ts'
import { resourceName } from '../../core/model/rbac-rule.ts'
import { MCP_KINDS } from '../../core/model/resource.ts'
import type { ClusterCheck, ClusterQuestion, LeaseOptions } from '../../core/ports.ts'
import { discoverKinds, type ServedKind } from './discover-kinds.ts'
import { type KindToRead, stagesOf } from './kinds.ts'
import type { KubeApi } from './kube-api.ts'

/** A right to ask for. `verbs` are those of the rule that gives it: who needs one of them needs them all. */
type Right = Pick<ClusterCheck, 'topic' | 'isNeeded' | 'note'> & {
  readonly group: string
  readonly resource: string
  readonly verb: string
  readonly verbs: readonly string[]
  readonly namespace: string
  readonly name?: string
}

/** Without these a source is judged with less; without the others it fails. */
const DEGRADING = ['MCPGroup', 'MCPExternalAuthConfig', 'GatewayClass', 'ListenerSet', 'ReferenceGrant', 'Namespace']

const TO_READ = ['get', 'list', 'watch'] as const
const TO_LEAD = ['get', 'create', 'update'] as const
const FOR_WATCH = 'only waypost watch needs it'
const WITH_LESS = 'a sync goes on with less'

const review = async (api: KubeApi, right: Right): Promise<ClusterCheck> => {
  const { topic, group, resource, verb, verbs, namespace, name, isNeeded, note } = right
  const answer = await api.send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group, resource, verb, namespace, ...(name !== undefined && { name }) } },
  })
  const what = `${resourceName(right)} ${namespace === '' ? 'in all namespaces' : `in namespace ${namespace}`}`
  const rule = { apiGroups: [group], resources: [resource], verbs, ...(namespace !== '' && { namespace }) }
  const check = { topic, verb, what, rule }
  if (answer.kind !== 'ok')
    return { ...check, isFine: false, isNeeded: false, note: 'or it may not ask whether it may' }
  const isFine = isMap(answer.value.status) && answer.value.status.allowed === true
  return { ...check, isFine, isNeeded, ...(note && { note }) }
}

const rightsToRead = ({ kind, group, resource, isNamespaced }: ServedKind, namespaces: readonly string[]) => {
  const isDegrading = DEGRADING.includes(kind)
  const one = (verb: (typeof TO_READ)[number], namespace: string): Right => ({
    topic: verb === 'watch' ? 'watch' : 'read',
    group,
    resource,
    verb,
    verbs: TO_READ,
    namespace,
    isNeeded: verb !== 'watch' && !isDegrading,
    ...(verb === 'watch' ? { note: FOR_WATCH } : isDegrading && { note: WITH_LESS }),
  })
  if (namespaces.length === 0) return [one('list', ''), one('watch', '')]
  if (isNamespaced) return namespaces.flatMap((namespace) => [one('list', namespace), one('watch', namespace)])
  // Of what has no namespace, only those that are named are read.
  return kind === 'Namespace' ? namespaces.map((name) => ({ ...one('get', name), name })) : [one('get', '')]
}

const rightsToLead = ({ name, namespace }: LeaseOptions): readonly Right[] =>
  TO_LEAD.map((verb) => ({
    topic: 'lease',
    group: 'coordination.k8s.io',
    resource: 'leases',
    verb,
    verbs: TO_LEAD,
    namespace,
    // What is not there yet has no name when it is judged.
    ...(verb !== 'create' && { name }),
    isNeeded: false,
    note: FOR_WATCH,
  }))

const rightsToTell = ({ scope }: ClusterQuestion): readonly Right[] =>
  (scope.namespaces.length === 0 ? [''] : scope.namespaces).map((namespace) => ({
    topic: 'events',
    group: '',
    resource: 'events',
    verb: 'create',
    verbs: ['create'],
    namespace,
    isNeeded: false,
    note: 'report.events asks for it',
  }))

const checkKinds = (
  kinds: readonly KindToRead[],
  served: ReadonlyMap<KindToRead, ServedKind>,
): readonly ClusterCheck[] => {
  const each = kinds.map((kind): ClusterCheck => {
    const found = served.get(kind)
    const what = found === undefined ? kind.kind : `${kind.kind} ${found.version}`
    return { topic: found === undefined ? 'absent' : 'kinds', what, isFine: true, isNeeded: false }
  })
  const isEmpty = !kinds.some((kind) => MCP_KINDS.some((name) => name === kind.kind) && served.has(kind))
  const problem: ClusterCheck = {
    topic: 'kinds',
    what: 'no kind of ToolHive is installed, so there is nothing to list',
    isFine: false,
    isNeeded: false,
    fix: 'Install the CRDs of ToolHive, or choose another context',
  }
  return isEmpty ? [...each, problem] : each
}

/** Asks the API server for its version, which kinds it has, and for each right that a source needs. */
export const check = async (
  api: KubeApi,
  question: ClusterQuestion,
  { lease, events }: { readonly lease?: LeaseOptions; readonly events: boolean },
): Promise<readonly ClusterCheck[]> => {
  const version = await api.get('/version')
  const kinds = stagesOf(question.gatewayApi).flat()
  const served = await discoverKinds(api, kinds)
  const rights = [
    ...[...served.values()].flatMap((found) => rightsToRead(found, question.scope.namespaces)),
    ...(lease === undefined ? [] : rightsToLead(lease)),
    ...(events ? rightsToTell(question) : []),
  ]
  const what = `Kubernetes ${version.kind === 'ok' ? String(version.value.gitVersion) : 'of unknown version'}`
  return [
    { topic: 'server', what, isFine: true, isNeeded: true },
    ...checkKinds(kinds, served),
    ...(await inParallel(rights, (right) => review(api, right))),
  ]
}
