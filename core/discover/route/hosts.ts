import type { Gateway, GatewayAddress } from '../../model/gateway.ts'
import { compareText } from '../../model/order.ts'
import { printable } from '../../model/printable.ts'
import { isAddress, rangeOfHost } from '../endpoint.ts'
import { obstacle, type Step, stopped, warning } from './diagnostic.ts'
import { isWildcard, matchesHost, patternsOf } from './hostnames.ts'
import { type Landscape, nameOf } from './landscape.ts'
import type { Attachment } from './listeners.ts'
import { conditionOf } from './parents.ts'

/** A host under which a listener is reached, and the route hostname that it comes from. */
export type Host = {
  readonly attachment: Attachment
  readonly own: string
  readonly host: string
  readonly source: 'hostname' | 'address'
}

type Address = { readonly family: 'hostname' | 'IPv4' | 'IPv6'; readonly value: string }

/** An address that a client could use: no type, or one of the two that we know. The API's default type is often not the truth. */
const parseAddress = ({ type, value }: GatewayAddress): readonly Address[] => {
  const text = value.toLowerCase()
  if (isAddress(text))
    return type === undefined || type === 'IPAddress'
      ? [{ family: text.includes(':') ? 'IPv6' : 'IPv4', value: text }]
      : []
  const isName = type === undefined || type === 'Hostname'
  return isName && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text) && !/^[\d.]+$/.test(text)
    ? [{ family: 'hostname', value: text }]
    : []
}

const isReachable = ({ value }: Address): boolean => {
  const range = rangeOfHost(value)
  return range === undefined || range === 'private'
}

const FAMILIES = ['hostname', 'IPv4', 'IPv6'] as const

const bestAddresses = (gateway: Gateway): readonly Address[] => {
  const usable = gateway.addresses.flatMap(parseAddress).filter(isReachable)
  const family = FAMILIES.find((each) => usable.some((address) => address.family === each))
  return usable.filter((address) => address.family === family).sort((a, b) => compareText(a.value, b.value))
}

const hostsOf = (attachment: Attachment, own: string, pattern: string, landscape: Landscape): Step<Host> => {
  const { gateway } = attachment.parent
  const at = `Gateway ${nameOf(gateway)}`
  const found = (source: Host['source'], ...hosts: readonly string[]): Step<Host> => ({
    found: hosts.map((host) => ({ attachment, own, host, source })),
    obstacles: [],
    warnings: [],
  })
  if (pattern === '') {
    const addresses = bestAddresses(gateway)
    return addresses.length > 0
      ? found('address', ...addresses.map(({ value }) => value))
      : stopped(obstacle('host', 'AddressUnusable', at))
  }
  if (!isWildcard(pattern)) return found('hostname', pattern)
  const inside = bestAddresses(gateway).filter(
    ({ family, value }) => family === 'hostname' && matchesHost(pattern, value),
  )
  if (inside.length > 0) return found('hostname', ...inside.map(({ value }) => value))
  const label = landscape.options.gateways[nameOf(gateway)]?.wildcardLabel || landscape.options.wildcardLabel
  return label === ''
    ? stopped(obstacle('host', 'WildcardHostname', at, printable(pattern)))
    : found('hostname', `${label}${pattern.slice(1)}`)
}

/** The hostnames of all listeners on a port of a Gateway, those of its accepted ListenerSets too. */
export type Siblings = (gateway: Gateway, port: number, protocol: string) => ReadonlySet<string>

export const indexSiblings = (landscape: Landscape): Siblings => {
  const known = new Map<string, Set<string>>()
  const key = (gateway: string, port: number, protocol: string): string => `${gateway} ${port} ${protocol}`
  for (const [name, gateway] of landscape.gateways) {
    const sets = (landscape.setsOf.get(name) ?? []).filter(
      ({ conditions }) => conditionOf(conditions, 'Accepted')?.status === 'True',
    )
    for (const { hostname, port, protocol } of [gateway, ...sets].flatMap(({ listeners }) => listeners)) {
      const place = key(name, port, protocol)
      known.set(place, (known.get(place) ?? new Set()).add(hostname))
    }
  }
  return (gateway, port, protocol) => known.get(key(nameOf(gateway), port, protocol)) ?? new Set()
}

/** The most specific listener on a port takes all traffic for a host; there is no second choice. */
const shadowOf = ({ attachment, host }: Host, siblings: Siblings): string | undefined => {
  const { parent, listener } = attachment
  const hostnames = siblings(parent.gateway, listener.port, listener.protocol)
  const taker = patternsOf(host).find((pattern) => pattern === listener.hostname || hostnames.has(pattern))
  return taker === undefined || taker === listener.hostname ? undefined : taker
}

/** Under which hosts a client reaches what is attached to a listener. */
export const findHosts = (attachment: Attachment, siblings: Siblings, landscape: Landscape): Step<Host> => {
  const { gateway, owner } = attachment.parent
  const at = `listener ${printable(attachment.listener.name)} of ${owner.kind} ${nameOf(owner)}`
  const steps = attachment.hosts.map(({ own, common }) => hostsOf(attachment, own, common, landscape))
  const hosts: Host[] = []
  const obstacles = steps.flatMap((step) => step.obstacles)
  for (const host of steps.flatMap(({ found }) => found)) {
    const taker = shadowOf(host, siblings)
    const range = rangeOfHost(host.host)
    if (taker !== undefined) obstacles.push(obstacle('host', 'HostShadowedByListener', at, `${host.host}, ${taker}`))
    else if (range !== undefined && range !== 'private')
      obstacles.push(obstacle('host', 'HostNotPublic', at, host.host))
    else hosts.push(host)
  }
  const addresses = gateway.addresses.flatMap(parseAddress)
  const isInside =
    hosts.length > 0 && addresses.length > 0 && addresses.every(({ value }) => rangeOfHost(value) === 'clusterInternal')
  return {
    found: hosts,
    obstacles,
    warnings: isInside ? [warning('ClusterLocalGateway', `Gateway ${nameOf(gateway)}`)] : [],
  }
}
