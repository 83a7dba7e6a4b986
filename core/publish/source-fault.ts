import type { Finding } from '../model/finding.ts'
import { rbacRules, renderDenial } from '../model/rbac-rule.ts'
import { MCP_KINDS } from '../model/resource.ts'
import type { ObjectKind, Snapshot } from '../model/snapshot.ts'
import { kindLossOf } from './guard.ts'

/** Why a read counts as failed; `kinds` is what has vanished and may be approved. */
export type SourceFault = { readonly problem: string; readonly kinds: readonly string[] }

/** Without these nobody knows where a route leads. */
export const ROUTE_KINDS = ['HTTPRoute', 'Gateway', 'GatewayClass', 'ListenerSet', 'ReferenceGrant'] as const

/** What a registry cannot be made without; the Gateway API's only where it is asked for. */
const RESOURCES: readonly { readonly kind: ObjectKind; readonly resource: string; readonly isRoute: boolean }[] = [
  { kind: 'MCPServer', resource: 'mcpservers.toolhive.stacklok.dev', isRoute: false },
  { kind: 'MCPRemoteProxy', resource: 'mcpremoteproxies.toolhive.stacklok.dev', isRoute: false },
  { kind: 'VirtualMCPServer', resource: 'virtualmcpservers.toolhive.stacklok.dev', isRoute: false },
  { kind: 'MCPServerEntry', resource: 'mcpserverentries.toolhive.stacklok.dev', isRoute: false },
  { kind: 'HTTPRoute', resource: 'httproutes.gateway.networking.k8s.io', isRoute: true },
  { kind: 'Gateway', resource: 'gateways.gateway.networking.k8s.io', isRoute: true },
  { kind: 'Service', resource: 'services', isRoute: true },
]

const isEmpty = ({ unreadable, resources, groups, routes, gateways, services, namespaces }: Snapshot): boolean =>
  unreadable.size === 0 &&
  [resources, groups, routes, gateways, services, namespaces].every(({ length }) => length === 0)

/** The MCP and Gateway API kinds that are there: one of them must not vanish unnoticed. */
export const listedKinds = ({ unlisted }: Snapshot, gatewayApi: boolean): readonly string[] =>
  [...MCP_KINDS, ...(gatewayApi ? ROUTE_KINDS : [])].filter((kind) => unlisted.get(kind) !== 'notInstalled')

/** What to allow: as the API server put it, else by the names of the kinds. */
const denialOf = ({ denials }: Snapshot, denied: typeof RESOURCES): string => {
  const told = denials.filter(({ kind }) => denied.some((each) => each.kind === kind))
  if (told.length === 0)
    return `reading was denied; allow get, list and watch on ${denied.map(({ resource }) => resource).join(', ')}`
  return `it may not ${told.map(renderDenial).join(', nor ')}; add to its role: ${rbacRules(told).join('; ')}`
}

/**
 * Is this read good enough to replace the last one? An unreadable file, a kind that may not be read, or one that was
 * there before and is not installed any more would each look like servers that are gone.
 */
export const findFault = (
  snapshot: Snapshot,
  findings: readonly Finding[],
  gatewayApi: boolean,
  listedBefore: readonly string[],
  isApproved: (loss: string) => boolean,
): SourceFault | undefined => {
  const unreadable = findings.find((finding) => finding.code === 'DocumentUnreadable')
  if (unreadable !== undefined)
    return {
      problem: `document ${unreadable.document} of ${unreadable.subject.name} cannot be read: ${unreadable.problem}`,
      kinds: [],
    }
  // An empty folder is an empty cluster; an empty pipe is a command that failed before it.
  if (findings.some(({ code, subject }) => code === 'NothingToRead' && subject.name === '-'))
    return { problem: 'standard input was empty; an empty cluster is a List without items', kinds: [] }
  const stranger = findings.find(({ code }) => code === 'NotAManifest')
  if (stranger !== undefined && isEmpty(snapshot))
    return { problem: `${stranger.subject.name} holds no Kubernetes object at all`, kinds: [] }
  const denied = RESOURCES.filter(
    ({ kind, isRoute }) => (gatewayApi || !isRoute) && snapshot.unlisted.get(kind) === 'denied',
  )
  if (denied.length > 0) return { problem: denialOf(snapshot, denied), kinds: [] }
  const kinds = [...MCP_KINDS, ...(gatewayApi ? ROUTE_KINDS : [])].filter(
    (kind) =>
      listedBefore.includes(kind) &&
      snapshot.unlisted.get(kind) === 'notInstalled' &&
      !isApproved(kindLossOf(snapshot.source, kind)),
  )
  return kinds.length === 0
    ? undefined
    : {
        problem: `${kinds.join(', ')} ${kinds.length === 1 ? 'was' : 'were'} installed before and ${kinds.length === 1 ? 'is' : 'are'} not any more`,
        kinds,
      }
}
