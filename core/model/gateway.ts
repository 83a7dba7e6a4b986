import type { Selector } from './selector.ts'
import type { ObjectMeta } from './snapshot.ts'

// The Gateway API, as far as a URL depends on it. Defaults are applied: files have none.

export const GATEWAY_GROUP = 'gateway.networking.k8s.io'

export type Condition = {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly observedGeneration: number
}

export type ParentRef = {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly sectionName: string | undefined
  readonly port: number | undefined
}

export type ParentStatus = {
  readonly ref: ParentRef
  readonly controllerName: string
  readonly conditions: readonly Condition[]
}

export type RouteMatch = {
  readonly pathType: string
  readonly path: string
  readonly method: string | undefined
  readonly needsHeader: boolean
  readonly needsQueryParam: boolean
}

export type BackendRef = {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly port: number | undefined
  readonly weight: number
  readonly redirects: boolean
  readonly hasExtension: boolean
  readonly rewrite: Rewrite
}

/** How the path that a backend sees differs from the path that a client sends. */
export type Rewrite =
  | { readonly kind: 'none' }
  | { readonly kind: 'prefix'; readonly value: string }
  | { readonly kind: 'full'; readonly value: string }

export type RouteRule = {
  readonly matches: readonly RouteMatch[]
  readonly backends: readonly BackendRef[]
  readonly redirects: boolean
  readonly hasExtension: boolean
  readonly rewrite: Rewrite
}

export type HttpRoute = {
  readonly kind: 'HTTPRoute'
  readonly meta: ObjectMeta
  readonly generation: number
  readonly parentRefs: readonly ParentRef[]
  readonly useDefaultGateways: boolean
  readonly hostnames: readonly string[]
  readonly rules: readonly RouteRule[]
  readonly status: readonly ParentStatus[] | undefined
}

/** Which namespaces may attach: to a listener, or with a ListenerSet to a Gateway. */
export type NamespacePolicy = { readonly from: string; readonly selector: Selector | undefined }

export type GroupKind = { readonly group: string; readonly kind: string }

export type Listener = {
  readonly name: string
  readonly hostname: string
  readonly port: number
  readonly protocol: string
  readonly tlsMode: string
  readonly kinds: readonly GroupKind[]
  readonly namespaces: NamespacePolicy
}

export type ListenerStatus = {
  readonly conditions: readonly Condition[]
  readonly supportedKinds: readonly GroupKind[] | undefined
}

/** What listeners and their status hang on: a Gateway or a ListenerSet. */
type ListenerOwner = {
  readonly meta: ObjectMeta
  readonly listeners: readonly Listener[]
  readonly conditions: readonly Condition[]
  readonly listenerStatus: ReadonlyMap<string, ListenerStatus>
  readonly hasStatus: boolean
}

export type GatewayAddress = { readonly type: string | undefined; readonly value: string }

export type Gateway = ListenerOwner & {
  readonly kind: 'Gateway'
  readonly className: string
  readonly isDefault: boolean
  readonly allowedListeners: NamespacePolicy
  readonly addresses: readonly GatewayAddress[]
  /** Ports where clients need a certificate: all of them, or those listed. */
  readonly clientCertificates: { readonly everywhere: boolean; readonly ports: ReadonlyMap<number, boolean> }
}

export type ListenerSet = ListenerOwner & {
  readonly kind: 'ListenerSet'
  readonly parent: GroupKind & { readonly namespace: string; readonly name: string }
}

export type GatewayClass = { readonly kind: 'GatewayClass'; readonly meta: ObjectMeta; readonly controllerName: string }

export type ReferenceGrant = {
  readonly kind: 'ReferenceGrant'
  readonly meta: ObjectMeta
  readonly from: readonly (GroupKind & { readonly namespace: string })[]
  readonly to: readonly (GroupKind & { readonly name: string | undefined })[]
}

export type OwnerRef = {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string | undefined
  readonly controller: boolean
}

export type Service = {
  readonly kind: 'Service'
  readonly meta: ObjectMeta
  readonly type: string
  readonly ports: readonly number[]
  readonly owners: readonly OwnerRef[]
}

export type Namespace = { readonly kind: 'Namespace'; readonly meta: ObjectMeta }
