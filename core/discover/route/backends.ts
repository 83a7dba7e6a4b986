import {
  type BackendRef,
  GATEWAY_GROUP,
  type HttpRoute,
  type OwnerRef,
  type Rewrite,
  type RouteRule,
  type Service,
} from '../../model/gateway.ts'
import { meansNo } from '../../model/opt-out.ts'
import { MCP_KINDS, TOOLHIVE_GROUP } from '../../model/resource.ts'
import type { McpResource } from '../../model/snapshot.ts'
import { notSelected } from '../scope.ts'
import { conditionOf } from './condition.ts'
import { join, type Obstacle, obstacle, type Step, stopped, warning } from './diagnostic.ts'
import { placeName } from './find-parent.ts'
import { fullNameOf, grantKey, type Landscape, resourceKey } from './landscape.ts'

/** The MCP resource that a rule leads to, and through which Service. */
export type Backend = {
  readonly resource: McpResource
  readonly service: string
  readonly weight: number
  readonly rewrite: Rewrite
  readonly hasExtension: boolean
}

/** What the Gateways that carry the route say about its references. */
const isResolved = ({ status }: HttpRoute): boolean =>
  (status ?? []).some(
    ({ ref, conditions }) =>
      ref.group === GATEWAY_GROUP &&
      conditionOf(conditions, 'Accepted')?.status === 'True' &&
      conditionOf(conditions, 'ResolvedRefs')?.status === 'True',
  )

const isPermitted = (route: HttpRoute, ref: BackendRef, landscape: Landscape): boolean => {
  if (ref.namespace === route.meta.namespace) return true
  // Where grants may not be read, the controller's word counts: it has read them.
  if (landscape.isDenied('ReferenceGrant')) return isResolved(route)
  return (landscape.grants.get(grantKey(ref.namespace, route.meta.namespace)) ?? []).some(
    ({ from, to }) =>
      from.some(
        ({ group, kind, namespace }) =>
          group === GATEWAY_GROUP && kind === 'HTTPRoute' && namespace === route.meta.namespace,
      ) &&
      to.some(
        ({ group, kind, name }) => group === '' && kind === 'Service' && (name === undefined || name === ref.name),
      ),
  )
}

/** An MCPServerEntry has no Service. */
const OWNER_KINDS = MCP_KINDS.filter((kind) => kind !== 'MCPServerEntry')

const isMcpOwner = ({ apiVersion, kind }: OwnerRef): boolean =>
  apiVersion.startsWith(`${TOOLHIVE_GROUP}/`) && OWNER_KINDS.some((each) => each === kind)

const ownerOf = ({ meta, owners }: Service, landscape: Landscape): McpResource | 'none' | 'missing' | 'unreadable' => {
  const mcp = owners.filter(isMcpOwner)
  const owner = mcp.find(({ controller }) => controller) ?? mcp[0]
  const kind = OWNER_KINDS.find((each) => each === owner?.kind)
  if (owner === undefined || kind === undefined) return 'none'
  const byUid =
    owner.uid === undefined ? undefined : landscape.resourcesByUid.get(resourceKey(kind, meta.namespace, owner.uid))
  if (byUid !== undefined) return byUid
  if (landscape.isUnreadable(kind, meta.namespace, owner.name)) return 'unreadable'
  // The name alone says nothing: the resource may have been made anew. In files there may be no uid to ask for.
  const byName = landscape.resources.get(resourceKey(kind, meta.namespace, owner.name))
  const hasNoUid = landscape.readAs === 'manifests' && (owner.uid === undefined || byName?.meta.uid === undefined)
  return byName !== undefined && hasNoUid ? byName : 'missing'
}

/** The resource that a Service's name stands for, by how the operator names Services. */
const resourceByServiceName = ({ namespace, name }: BackendRef, landscape: Landscape): McpResource | undefined => {
  const names: readonly (readonly [string, string | undefined])[] = [
    ['MCPRemoteProxy', /^mcp-(.+)-remote-proxy$/.exec(name)?.[1]],
    ['MCPServer', /^mcp-(.+)-proxy$/.exec(name)?.[1]],
    ['VirtualMCPServer', /^vmcp-(.+)$/.exec(name)?.[1]],
    ...OWNER_KINDS.map((kind) => [kind, name] as const),
  ]
  return names.flatMap(([kind, own]) =>
    own === undefined ? [] : (landscape.resources.get(resourceKey(kind, namespace, own)) ?? []),
  )[0]
}

const found = (resource: McpResource, ref: BackendRef): Step<Backend> => ({
  found: [
    {
      resource,
      service: `${ref.namespace}/${ref.name}`,
      weight: ref.weight,
      rewrite: ref.rewrite,
      hasExtension: ref.hasExtension,
    },
  ],
  obstacles: [],
  warnings: [],
})

/** Why a resource is not to be listed, whoever leads to it. */
const barOf = (resource: McpResource, at: string, landscape: Landscape): Obstacle | undefined => {
  const name = fullNameOf(resource)
  if (notSelected(resource, landscape.scope) !== undefined)
    return obstacle('backend', 'McpResourceNotSelected', at, name)
  return meansNo(resource.meta.annotations.get('registry-export'))
    ? obstacle('backend', 'McpResourceOptedOut', at, name)
    : undefined
}

const follow = (route: HttpRoute, ref: BackendRef, at: string, landscape: Landscape): Step<Backend> => {
  const name = placeName(ref)
  if (ref.weight === 0) return stopped(obstacle('backend', 'BackendWeightZero', at, name))
  if (ref.redirects) return stopped(obstacle('backend', 'BackendRedirects', at, name))
  if (ref.group !== '' || ref.kind !== 'Service')
    return stopped(obstacle('backend', 'BackendKindUnsupported', at, name))
  // Before the look-up: without a grant nobody may learn whether the Service exists.
  if (!isPermitted(route, ref, landscape)) return stopped(obstacle('backend', 'BackendRefNotPermitted', at, name))
  const service = landscape.services.get(`${ref.namespace}/${ref.name}`)
  if (service === undefined) {
    if (landscape.isUnreadable('Service', ref.namespace, ref.name))
      return stopped(obstacle('backend', 'BackendUnreadable', at, name))
    const guess = landscape.readAs === 'manifests' ? resourceByServiceName(ref, landscape) : undefined
    if (guess === undefined) return stopped(obstacle('backend', 'BackendNotFound', at, name))
    const step = found(guess, ref)
    return {
      ...step,
      warnings: [warning('ServiceAssumed', at, name, fullNameOf(guess))],
    }
  }
  if (service.type === 'ExternalName') return stopped(obstacle('backend', 'BackendExternalName', at, name))
  if (ref.port === undefined || !service.ports.includes(ref.port))
    return stopped(
      obstacle('backend', 'BackendPortNotFound', at, name, ref.port === undefined ? undefined : String(ref.port)),
    )
  const owner = ownerOf(service, landscape)
  if (owner === 'unreadable') return stopped(obstacle('backend', 'BackendUnreadable', at, name))
  if (owner === 'none') return stopped(obstacle('backend', 'NoMcpBackend', at, name))
  return owner === 'missing' ? stopped(obstacle('backend', 'McpResourceNotFound', at, name)) : found(owner, ref)
}

/** Which MCP resource answers a rule: the heaviest of its backends, the first among equals. If it is barred, nobody is listed for it. */
export const findBackend = (route: HttpRoute, rule: RouteRule, at: string, landscape: Landscape): Step<Backend> => {
  if (rule.redirects) return stopped(obstacle('rule', 'RuleRedirects', at))
  if (rule.backends.length === 0) return stopped(obstacle('rule', 'NoBackendRefs', at))
  const steps = rule.backends.map((ref, index) => follow(route, ref, `${at}.backendRefs[${index}]`, landscape))
  const { found: backends, obstacles, warnings } = join(steps)
  const heaviest = backends.reduce<Backend | undefined>(
    (best, each) => (best === undefined || each.weight > best.weight ? each : best),
    undefined,
  )
  if (heaviest === undefined) return { found: [], obstacles, warnings }
  const bar = barOf(heaviest.resource, at, landscape)
  if (bar !== undefined) return { found: [], obstacles: [...obstacles, bar], warnings }
  const isMixed = steps.some((step, index) => step.found.length === 0 && rule.backends[index]?.weight !== 0)
  const noticed = [
    ...(new Set(backends.map(({ resource }) => resource)).size > 1
      ? [warning('MultipleMcpBackends', at, fullNameOf(heaviest.resource))]
      : []),
    ...(isMixed ? [warning('MixedBackends', at)] : []),
    ...(rule.hasExtension || heaviest.hasExtension ? [warning('ExtensionFilter', at)] : []),
  ]
  return { found: [heaviest], obstacles, warnings: [...warnings, ...noticed] }
}
