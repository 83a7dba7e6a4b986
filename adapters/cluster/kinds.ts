import { GATEWAY_GROUP } from '../../core/model/gateway.ts'
import { TOOLHIVE_GROUP } from '../../core/model/resource.ts'
import type { ObjectKind } from '../../core/model/snapshot.ts'

export type KindToRead = {
  readonly kind: ObjectKind
  readonly group: string
  /** The versions that we know, best first. */
  readonly versions: readonly string[]
  readonly isNamespaced: boolean
  /** Is it only there to follow routes? */
  readonly isRoute: boolean
  /** Of a kind of the core group, which discovery need not be asked for. */
  readonly resource?: string
}

const toolhive = (kind: ObjectKind): KindToRead => ({
  kind,
  group: TOOLHIVE_GROUP,
  versions: ['v1beta1', 'v1alpha1'],
  isNamespaced: true,
  isRoute: false,
})
const gateway = (kind: ObjectKind, isNamespaced = true): KindToRead => ({
  kind,
  group: GATEWAY_GROUP,
  versions: ['v1', 'v1beta1'],
  isNamespaced,
  isRoute: true,
})
const core = (kind: ObjectKind, resource: string, isNamespaced: boolean): KindToRead => ({
  kind,
  group: '',
  versions: ['v1'],
  isNamespaced,
  isRoute: true,
  resource,
})

/**
 * In stages: who refers to an object is listed before it, so that an object which was there before its referrer is
 * never missed. Lists of several kinds are not one moment.
 */
export const STAGES: readonly (readonly KindToRead[])[] = [
  [gateway('HTTPRoute')],
  [core('Service', 'services', true), gateway('ListenerSet')],
  [
    toolhive('MCPServer'),
    toolhive('MCPRemoteProxy'),
    toolhive('VirtualMCPServer'),
    toolhive('MCPServerEntry'),
    gateway('Gateway'),
  ],
  [
    toolhive('MCPGroup'),
    toolhive('MCPExternalAuthConfig'),
    gateway('GatewayClass', false),
    gateway('ReferenceGrant'),
    core('Namespace', 'namespaces', false),
  ],
]

/** What a source needs to read. */
export const stagesOf = (gatewayApi: boolean): readonly (readonly KindToRead[])[] =>
  STAGES.map((kinds) => kinds.filter(({ isRoute }) => gatewayApi || !isRoute))
