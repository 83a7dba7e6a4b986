import { MCP_KINDS } from './resource.ts'
import type { McpResource, Snapshot, SnapshotObject } from './snapshot.ts'

type Circumstances = Pick<Snapshot, 'source' | 'readAs' | 'scope' | 'unlisted' | 'denials' | 'unreadable'>

const isMcpResource = (object: SnapshotObject): object is McpResource => MCP_KINDS.some((kind) => kind === object.kind)

/** Objects of all kinds, each in its place. */
export const assembleSnapshot = (circumstances: Circumstances, objects: readonly SnapshotObject[]): Snapshot => {
  const ofKind = <K extends SnapshotObject['kind']>(kind: K): readonly Extract<SnapshotObject, { kind: K }>[] =>
    objects.filter((object): object is Extract<SnapshotObject, { kind: K }> => object.kind === kind)
  return {
    ...circumstances,
    resources: objects.filter(isMcpResource),
    groups: ofKind('MCPGroup'),
    externalAuthConfigs: ofKind('MCPExternalAuthConfig'),
    routes: ofKind('HTTPRoute'),
    gateways: ofKind('Gateway'),
    gatewayClasses: ofKind('GatewayClass'),
    listenerSets: ofKind('ListenerSet'),
    referenceGrants: ofKind('ReferenceGrant'),
    services: ofKind('Service'),
    namespaces: ofKind('Namespace'),
  }
}
