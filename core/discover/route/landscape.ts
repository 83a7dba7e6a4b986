import type { Gateway, GatewayClass, ListenerSet, ReferenceGrant, Service } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { subjectKey } from '../../model/resource.ts'
import type { McpResource, ObjectKind, ReadAs, Scope, Snapshot } from '../../model/snapshot.ts'
import type { DiscoveryOptions } from '../options.ts'

/** A snapshot by name, so that no walk searches a list. */
export type Landscape = {
  readonly readAs: ReadAs
  readonly scope: Scope
  readonly options: DiscoveryOptions
  readonly isDenied: (kind: ObjectKind) => boolean
  /** Could this object be there without our having read it? */
  readonly isUnreadable: (kind: ObjectKind, namespace: string, name: string) => boolean
  readonly gateways: ReadonlyMap<string, Gateway>
  readonly gatewayClasses: ReadonlyMap<string, GatewayClass>
  readonly listenerSets: ReadonlyMap<string, ListenerSet>
  /** The ListenerSets that name a Gateway as their parent. */
  readonly setsOf: ReadonlyMap<string, readonly ListenerSet[]>
  readonly services: ReadonlyMap<string, Service>
  /** The grants of one namespace to another, by both. */
  readonly grants: ReadonlyMap<string, readonly ReferenceGrant[]>
  readonly namespaceLabels: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly resources: ReadonlyMap<string, McpResource>
  readonly resourcesByUid: ReadonlyMap<string, McpResource>
}

type Named = { readonly meta: { readonly namespace: string; readonly name: string } }

export const nameOf = ({ meta }: Named): string =>
  meta.namespace === '' ? meta.name : `${meta.namespace}/${meta.name}`
/** As sentences call an object: `MCPServer team/github`. That of a Gateway that was assumed is text of others. */
export const fullNameOf = (object: Named & { readonly kind: string }): string =>
  printable(`${object.kind} ${nameOf(object)}`, 400)
export const resourceKey = (kind: string, namespace: string, name: string): string => `${kind}/${namespace}/${name}`

const byName = <T extends Named>(objects: readonly T[]): ReadonlyMap<string, T> =>
  new Map(objects.map((object) => [nameOf(object), object]))

export const grantKey = (to: string, from: string): string => `${to} ${from}`

const indexGrants = (grants: readonly ReferenceGrant[]): ReadonlyMap<string, readonly ReferenceGrant[]> => {
  const index = new Map<string, ReferenceGrant[]>()
  for (const grant of grants) {
    for (const namespace of new Set(grant.from.map((each) => each.namespace))) {
      const key = grantKey(grant.meta.namespace, namespace)
      const known = index.get(key)
      if (known === undefined) index.set(key, [grant])
      else known.push(grant)
    }
  }
  return index
}

export const surveyOf = (snapshot: Snapshot, options: DiscoveryOptions): Landscape => ({
  readAs: snapshot.readAs,
  scope: snapshot.scope,
  options,
  isDenied: (kind) => snapshot.unlisted.get(kind) === 'denied',
  isUnreadable: (kind, namespace, name) =>
    snapshot.unlisted.get(kind) === 'denied' ||
    snapshot.unreadable.has(subjectKey({ source: snapshot.source, kind, namespace, name })),
  gateways: byName(snapshot.gateways),
  gatewayClasses: byName(snapshot.gatewayClasses),
  listenerSets: byName(snapshot.listenerSets),
  setsOf: Map.groupBy(snapshot.listenerSets, ({ parent }) => `${parent.namespace}/${parent.name}`),
  services: byName(snapshot.services),
  grants: indexGrants(snapshot.referenceGrants),
  namespaceLabels: new Map(snapshot.namespaces.map(({ meta }) => [meta.name, meta.labels])),
  resources: new Map(
    snapshot.resources.map((resource) => [
      resourceKey(resource.kind, resource.meta.namespace, resource.meta.name),
      resource,
    ]),
  ),
  resourcesByUid: new Map(
    snapshot.resources.flatMap((resource) =>
      resource.meta.uid === undefined
        ? []
        : [[resourceKey(resource.kind, resource.meta.namespace, resource.meta.uid), resource] as const],
    ),
  ),
})
