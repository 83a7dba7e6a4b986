import { GATEWAY_GROUP, type Gateway, type HttpRoute, type ListenerSet } from '../../core/model/gateway.ts'
import type { ObjectKind, SnapshotObject } from '../../core/model/snapshot.ts'

// A source that takes some namespaces lists those. What its exported routes lead to elsewhere is asked for by name.

export type Place = { readonly namespace: string; readonly name: string }

/** Text of others becomes part of a path only where it could name an object. */
const isName = (text: string): boolean => /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(text)

const isSame = (a: Place, b: Place): boolean => a.namespace === b.namespace && a.name === b.name

const exportedRoutes = (objects: readonly SnapshotObject[]): readonly HttpRoute[] =>
  objects.filter(
    (object): object is HttpRoute =>
      object.kind === 'HTTPRoute' && object.meta.annotations.get('registry-export') === 'true',
  )

const parentsOf = (objects: readonly SnapshotObject[], kind: string): readonly Place[] =>
  exportedRoutes(objects)
    .flatMap(({ parentRefs, useDefaultGateways, status }) => [
      ...parentRefs,
      ...(useDefaultGateways ? (status ?? []).map(({ ref }) => ref) : []),
    ])
    .filter((ref) => ref.group === GATEWAY_GROUP && ref.kind === kind)

const backendsOf = (objects: readonly SnapshotObject[]): readonly Place[] =>
  exportedRoutes(objects)
    .flatMap(({ rules }) => rules.flatMap(({ backends }) => backends))
    .filter(({ group, kind }) => group === '' && kind === 'Service')

const FOUND_BY: Partial<Record<ObjectKind, (objects: readonly SnapshotObject[]) => readonly Place[]>> = {
  Service: backendsOf,
  ListenerSet: (objects) => parentsOf(objects, 'ListenerSet'),
  Gateway: (objects) => [
    ...parentsOf(objects, 'Gateway'),
    ...objects
      .filter((object): object is ListenerSet => object.kind === 'ListenerSet')
      .filter(({ meta }) => parentsOf(objects, 'ListenerSet').some((place) => isSame(place, meta)))
      .map(({ parent }) => parent),
  ],
  GatewayClass: (objects) =>
    objects
      .filter((object): object is Gateway => object.kind === 'Gateway')
      .map(({ className }) => ({ namespace: '', name: className })),
  // Which namespaces may attach is asked of routes, which are in the namespaces of the source, and of ListenerSets.
  Namespace: (objects) =>
    objects.filter(({ kind }) => kind === 'ListenerSet').map(({ meta }) => ({ namespace: '', name: meta.namespace })),
}

/** The objects of a kind outside the namespaces of a source that what was read refers to. */
export const referencesTo = (
  kind: ObjectKind,
  objects: readonly SnapshotObject[],
  namespaces: readonly string[],
): readonly Place[] => {
  const places = (FOUND_BY[kind]?.(objects) ?? []).filter(
    ({ namespace, name }) => !namespaces.includes(namespace) && isName(name) && (namespace === '' || isName(namespace)),
  )
  return [...new Map(places.map(({ namespace, name }) => [`${namespace}/${name}`, { namespace, name }])).values()]
}

/** Where grants are looked for: where the Services are that routes of other namespaces lead to. */
export const grantNamespaces = (
  objects: readonly SnapshotObject[],
  namespaces: readonly string[],
): readonly string[] => [...new Set(referencesTo('Service', objects, namespaces).map(({ namespace }) => namespace))]
