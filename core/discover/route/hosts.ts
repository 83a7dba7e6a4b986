import type { Gateway, GatewayAddress } from '../../model/gateway.ts'
import { isWildcard, matchesHost } from '../../model/host-pattern.ts'
import { compareText } from '../../model/order.ts'
import { printable } from '../../model/printable.ts'
import { isAddress, rangeOfHost } from '../endpoint.ts'
import { join, obstacle, type Step, stopped, warning } from './diagnostic.ts'
import { isHostname, patternsOf } from './hostnames.ts'
import { fullNameOf, type Landscape, nameOf } from './landscape.ts'
import { hasGateway, whyNotAttached } from './listener-set.ts'
import type { Attachment } from './listeners.ts'

/** A host under which a listener is reached. */
export type Host = {
  readonly attachment: Attachment
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
  const isName = (type === undefined || type === 'Hostname') && isHostname(text) && !isWildcard(text)
  return isName ? [{ family: 'hostname', value: text }] : []
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

const hostsOf = (attachment: Attachment, pattern: string, landscape: Landscape): Step<Host> => {
  const { gateway } = attachment.parent
  const at = fullNameOf(gateway)
  const found = (source: Host['source'], ...hosts: readonly string[]): Step<Host> => ({
    found: hosts.map((host) => ({ attachment, host, source })),
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
      (set) => hasGateway(set) && whyNotAttached(set, gateway, landscape) === undefined,
    )
    for (const { hostname, port, protocol } of [gateway, ...sets].flatMap(({ listeners }) => listeners)) {
      const place = key(name, port, protocol)
      known.set(place, (known.get(place) ?? new Set()).add(hostname))
    }
  }
  return (gateway, port, protocol) => known.get(key(nameOf(gateway), port, protocol)) ?? new Set()
}

/** The most specific listener on a port takes all traffic for a host; there is no second choice. */
const takerOf = ({ attachment, host }: Host, siblings: Siblings): string | undefined => {
  const { parent, listener } = attachment
  const hostnames = siblings(parent.gateway, listener.port, listener.protocol)
  const taker = patternsOf(host).find((pattern) => pattern === listener.hostname || hostnames.has(pattern))
  return taker === listener.hostname ? undefined : taker
}

const reach = (host: Host, siblings: Siblings, at: string): Step<Host> => {
  const taker = takerOf(host, siblings)
  if (taker !== undefined) return stopped(obstacle('host', 'HostShadowedByListener', at, host.host, taker))
  const range = rangeOfHost(host.host)
  if (range !== undefined && range !== 'private') return stopped(obstacle('host', 'HostNotPublic', at, host.host))
  return { found: [host], obstacles: [], warnings: [] }
}

/** Under which hosts a client reaches what is attached to a listener. */
export const findHosts = (attachment: Attachment, siblings: Siblings, landscape: Landscape): Step<Host> => {
  const { gateway, owner } = attachment.parent
  const at = `listener ${printable(attachment.listener.name)} of ${fullNameOf(owner)}`
  const steps = attachment.hosts.map(({ common }): Step<Host> => {
    const named = hostsOf(attachment, common, landscape)
    return join([{ ...named, found: [] }, ...named.found.map((host) => reach(host, siblings, at))])
  })
  const { found, obstacles } = join(steps)
  const addresses = gateway.addresses.flatMap(parseAddress)
  const isInside =
    found.length > 0 && addresses.length > 0 && addresses.every(({ value }) => rangeOfHost(value) === 'clusterInternal')
  return { found, obstacles, warnings: isInside ? [warning('ClusterLocalGateway', fullNameOf(gateway))] : [] }
}
