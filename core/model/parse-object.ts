import type * as z from 'zod'
import { GATEWAY_GROUP } from './gateway.ts'
import {
  gateway,
  gatewayClass,
  gatewayClassOf,
  gatewayOf,
  listenerSet,
  listenerSetOf,
  namespace,
  namespaceOf,
  referenceGrant,
  referenceGrantOf,
  service,
  serviceOf,
} from './parse-gateway.ts'
import {
  externalAuthConfig,
  externalAuthConfigOf,
  mcpGroup,
  mcpGroupOf,
  mcpResource,
  mcpResourceOf,
} from './parse-mcp.ts'
import { httpRoute, httpRouteOf } from './parse-route.ts'
import { printable } from './printable.ts'
import { MCP_KINDS, TOOLHIVE_GROUP } from './resource.ts'
import type { SnapshotObject } from './snapshot.ts'

export type ParsedObject =
  | { readonly kind: 'object'; readonly object: SnapshotObject }
  | { readonly kind: 'invalid'; readonly field: string; readonly problem: string }
  | { readonly kind: 'other' }

type Parse = (value: unknown) => ParsedObject

/** The end of a sentence that begins with the field. */
const problemOf = (issue: z.core.$ZodIssue | undefined): string => {
  if (issue?.code !== 'invalid_type') return issue?.code === 'too_big' ? 'is too long' : (issue?.message ?? 'is wrong')
  return issue.message.endsWith('received undefined') ? 'is missing' : `is no ${issue.expected}`
}

const parser =
  <Schema extends z.ZodType>(schema: Schema, toObject: (data: z.infer<Schema>) => SnapshotObject): Parse =>
  (value) => {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { kind: 'object', object: toObject(parsed.data) }
    const [issue] = parsed.error.issues
    return {
      kind: 'invalid',
      field: issue?.path.map((part) => printable(String(part), 40)).join('.') || 'it',
      problem: problemOf(issue),
    }
  }

/** Every kind that is read, by group and kind: any served version has the fields that we use. */
const PARSERS: ReadonlyMap<string, Parse> = new Map([
  ...MCP_KINDS.map(
    (kind) => [`${TOOLHIVE_GROUP}/${kind}`, parser(mcpResource, (data) => mcpResourceOf(kind, data))] as const,
  ),
  [`${TOOLHIVE_GROUP}/MCPGroup`, parser(mcpGroup, mcpGroupOf)],
  [`${TOOLHIVE_GROUP}/MCPExternalAuthConfig`, parser(externalAuthConfig, externalAuthConfigOf)],
  [`${GATEWAY_GROUP}/HTTPRoute`, parser(httpRoute, httpRouteOf)],
  [`${GATEWAY_GROUP}/Gateway`, parser(gateway, gatewayOf)],
  [`${GATEWAY_GROUP}/GatewayClass`, parser(gatewayClass, gatewayClassOf)],
  [`${GATEWAY_GROUP}/ListenerSet`, parser(listenerSet, listenerSetOf)],
  [`${GATEWAY_GROUP}/ReferenceGrant`, parser(referenceGrant, referenceGrantOf)],
  ['/Service', parser(service, serviceOf)],
  ['/Namespace', parser(namespace, namespaceOf)],
])

/** Reads a Kubernetes object of any shape: one of ours, one of ours with a wrong field, or nothing to us. */
export const parseObject = (apiVersion: string, kind: string, value: unknown): ParsedObject => {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return PARSERS.get(`${group}/${kind}`)?.(value) ?? { kind: 'other' }
}

const OTHER_KINDS = [
  'MCPRegistry',
  'MCPToolConfig',
  'VirtualMCPCompositeToolDefinition',
  'MCPOIDCConfig',
  'MCPTelemetryConfig',
  'MCPAuthzConfig',
  'MCPRemoteEndpoint',
  'EmbeddingServer',
]

/** Is this an object of somebody else, or a kind of ToolHive's that exists? A misspelt one would be passed over silently. */
export const isKnownKind = (apiVersion: string, kind: string): boolean =>
  !apiVersion.startsWith(`${TOOLHIVE_GROUP}/`) || OTHER_KINDS.includes(kind)
