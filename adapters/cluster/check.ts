import { inParallel } from '../../core/model/in-parallel.ts'
import { isMap } from '../../core/model/is-map.ts'
import { resourceName } from '../../core/model/rbac-rule.ts'
import type { ClusterCheck, ClusterQuestion, LeaseOptions } from '../../core/ports.ts'
import { discoverKinds } from './discover-kinds.ts'
import { type KindToRead, stagesOf } from './kinds.ts'
import type { KubeApi } from './kube-api.ts'

type Right = {
  readonly group: string
  readonly resource: string
  readonly verb: string
  readonly namespace: string
  readonly name?: string
  readonly isNeeded: boolean
}

/** Without these a source fails; without the others it is judged with less. */
const DEGRADING = ['MCPGroup', 'MCPExternalAuthConfig', 'GatewayClass', 'ListenerSet', 'ReferenceGrant', 'Namespace']

const where = (namespace: string): string => (namespace === '' ? 'in all namespaces' : `in namespace ${namespace}`)

const review = async (api: KubeApi, right: Right): Promise<ClusterCheck> => {
  const { group, resource, verb, namespace, name, isNeeded } = right
  const answer = await api.send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group, resource, verb, namespace, ...(name !== undefined && { name }) } },
  })
  const status = answer.kind === 'ok' && isMap(answer.value.status) ? answer.value.status : {}
  const what = `${verb} ${resourceName(right)} ${where(namespace)}`
  if (status.allowed === true) return { what, isFine: true, isNeeded }
  const names = name === undefined || verb === 'create' ? '' : `, resourceNames: ["${name}"]`
  const role = namespace === '' ? 'a ClusterRole' : `a Role in namespace ${namespace}`
  const fix = `Add to ${role}: { apiGroups: ["${group}"], resources: ["${resource}"]${names}, verbs: ["${verb}"] }`
  return { what, isFine: false, isNeeded, fix }
}

const rightsToRead = (kind: KindToRead, resource: string, namespaces: readonly string[]): readonly Right[] => {
  const isNeeded = !DEGRADING.includes(kind.kind)
  const one = (verb: string, namespace: string): Right => ({ group: kind.group, resource, verb, namespace, isNeeded })
  if (namespaces.length === 0) return [one('list', ''), one('watch', '')]
  if (kind.isNamespaced) return namespaces.flatMap((namespace) => [one('list', namespace), one('watch', namespace)])
  return kind.kind === 'Namespace' ? namespaces.map((name) => ({ ...one('get', name), name })) : [one('get', '')]
}

const rightsBeyond = (
  { scope }: ClusterQuestion,
  events: boolean,
  lease: LeaseOptions | undefined,
): readonly Right[] => {
  const leases = { group: 'coordination.k8s.io', resource: 'leases', isNeeded: false }
  return [
    ...(lease === undefined
      ? []
      : ['get', 'create', 'update'].map((verb) => ({ ...leases, verb, namespace: lease.namespace, name: lease.name }))),
    ...(events
      ? (scope.namespaces.length === 0 ? [''] : scope.namespaces).map((namespace) => ({
          group: '',
          resource: 'events',
          verb: 'create',
          namespace,
          isNeeded: false,
        }))
      : []),
  ]
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
  const installed = kinds.map((kind): ClusterCheck => {
    const found = served.get(kind)
    return found === undefined
      ? { what: `${kind.kind} is not installed`, isFine: true, isNeeded: false }
      : { what: `${kind.kind} ${found.version}`, isFine: true, isNeeded: false }
  })
  const rights = kinds.flatMap((kind) => {
    const found = served.get(kind)
    return found === undefined ? [] : rightsToRead(kind, found.resource, question.scope.namespaces)
  })
  return [
    {
      what: `Kubernetes ${version.kind === 'ok' ? String(version.value.gitVersion) : 'of unknown version'}`,
      isFine: true,
      isNeeded: true,
    },
    ...installed,
    ...(await inParallel([...rights, ...rightsBeyond(question, events, lease)], (right) => review(api, right))),
  ]
}
