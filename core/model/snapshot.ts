import type { Finding } from './finding.ts'
import type {
  Condition,
  Gateway,
  GatewayClass,
  HttpRoute,
  ListenerSet,
  Namespace,
  ReferenceGrant,
  Service,
} from './gateway.ts'
import type { McpKind } from './resource.ts'
import type { Selector } from './selector.ts'

/** How files are read: as manifests that were never applied, or as the dump of a live cluster, where nothing is assumed. */
export type ReadAs = 'manifests' | 'cluster'

export type ObjectMeta = {
  readonly namespace: string
  readonly name: string
  readonly uid: string | undefined
  readonly createdAt: number | undefined
  readonly terminating: boolean
  readonly labels: ReadonlyMap<string, string>
  /** Only `toolhive.stacklok.dev/…`, by the rest of the key. A value that is no string is kept, to be reported. */
  readonly annotations: ReadonlyMap<string, unknown>
}

/** The fields of an MCP resource that listing needs. Header values and Secret names are not among them. */
export type McpResource = {
  readonly kind: McpKind
  readonly meta: ObjectMeta
  readonly transport: string | undefined
  readonly proxyMode: string | undefined
  readonly image: string | undefined
  readonly remoteUrl: string | undefined
  /** Does an SSE server know the prefix under which it is reached? */
  readonly knowsItsPrefix: boolean
  readonly group: string | undefined
  readonly externalAuth: string | undefined
  readonly headerNames: readonly string[]
  readonly privateAuthority: boolean
  readonly insecureAllowHttp: boolean
  readonly status:
    | { readonly phase: string | undefined; readonly conditions: readonly Pick<Condition, 'type' | 'status'>[] }
    | undefined
}

export type McpGroup = { readonly kind: 'MCPGroup'; readonly meta: ObjectMeta }

export type ExternalAuthConfig = {
  readonly kind: 'MCPExternalAuthConfig'
  readonly meta: ObjectMeta
  readonly type: string | undefined
  readonly headerName: string | undefined
  readonly upstreams: number
}

export type SnapshotObject =
  | McpResource
  | McpGroup
  | ExternalAuthConfig
  | HttpRoute
  | Gateway
  | GatewayClass
  | ListenerSet
  | ReferenceGrant
  | Service
  | Namespace

export type ObjectKind = SnapshotObject['kind']

/** Why a kind was not listed: discovery answered that it is not installed, or reading it was denied. */
export type Unlisted = 'notInstalled' | 'denied'

/** What an API server did not allow: what to add to a role. `namespace` is empty where all of them were asked for. */
export type Denial = {
  readonly kind: ObjectKind
  readonly verb: 'get' | 'list'
  readonly group: string
  readonly resource: string
  readonly namespace: string
}

/** Which MCP resources of a cluster a source takes. Empty means all. */
export type Scope = { readonly namespaces: readonly string[]; readonly labelSelector: Selector }

/** All that was read from a cluster in one go: complete, or it does not exist. */
export type Snapshot = {
  readonly source: string
  readonly readAs: ReadAs
  readonly scope: Scope
  /** Kinds that were not listed whole: nothing of them may be called missing. */
  readonly unlisted: ReadonlyMap<ObjectKind, Unlisted>
  /** Why a kind is `denied`, where an API server said so. */
  readonly denials: readonly Denial[]
  /** Objects that are there but cannot be read, by their `subjectKey`: they may not be called missing either. */
  readonly unreadable: ReadonlySet<string>
  readonly resources: readonly McpResource[]
  readonly groups: readonly McpGroup[]
  readonly externalAuthConfigs: readonly ExternalAuthConfig[]
  readonly routes: readonly HttpRoute[]
  readonly gateways: readonly Gateway[]
  readonly gatewayClasses: readonly GatewayClass[]
  readonly listenerSets: readonly ListenerSet[]
  readonly referenceGrants: readonly ReferenceGrant[]
  readonly services: readonly Service[]
  readonly namespaces: readonly Namespace[]
}

/** What asking an API server cost. */
export type ReadCost = { readonly requests: number; readonly bytes: number }

/** A snapshot, and what should be said about reading it. */
export type SnapshotReading = {
  readonly snapshot: Snapshot
  readonly findings: readonly Finding[]
  readonly cost?: ReadCost
}
