import ipaddr from 'ipaddr.js'
import type { EndpointField, FindingDetail, HostRange, UrlProblem } from '../model/finding.ts'
import { printable } from '../model/printable.ts'

const MAX_URL = 2048
const METADATA_NAMES = ['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal']
const METADATA_ADDRESSES = ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254']
const CLUSTER_SUFFIXES = ['.svc', '.cluster.local']
/** How the operator calls the Services of our resources. */
const SERVICE = /^(mcp-[^.]+-proxy|vmcp-[^.]+)$/

/** What ipaddr.js calls a range, where it matters to us; all other addresses may be public. */
const RANGES: ReadonlyMap<string, HostRange> = new Map([
  ['loopback', 'loopback'],
  ['linkLocal', 'linkLocal'],
  ['private', 'private'],
  ['uniqueLocal', 'private'],
  ['carrierGradeNat', 'private'],
  ['unspecified', 'reserved'],
  ['broadcast', 'reserved'],
  ['multicast', 'reserved'],
])

/** Where in an IPv6 address the IPv4 address stands that it leads to. */
const EMBEDDED: ReadonlyMap<string, number> = new Map([
  ['ipv4Mapped', 12],
  ['rfc6052', 12],
  ['6to4', 2],
])

const rangeOfAddress = (address: ipaddr.IPv4 | ipaddr.IPv6): HostRange | undefined => {
  const range = address.range()
  const embedded = EMBEDDED.get(range)
  if (embedded !== undefined)
    return rangeOfAddress(new ipaddr.IPv4(address.toByteArray().slice(embedded, embedded + 4)))
  if (METADATA_ADDRESSES.includes(address.toString())) return 'metadata'
  // ipaddr.js calls the deprecated site-local block reserved.
  if (address instanceof ipaddr.IPv6 && address.match(ipaddr.IPv6.parse('fec0::'), 10)) return 'private'
  return RANGES.get(range)
}

/** Asking ipaddr.js about every name would be the larger part of a compile, so the form is looked at first. */
export const isAddress = (host: string): boolean =>
  (host.includes(':') || /^[\d.]+$/.test(host)) && ipaddr.isValid(host)

/** Which hosts no reader of a registry can reach, decided by name alone: nothing is ever looked up or probed. */
export const rangeOfHost = (hostname: string): HostRange | undefined => {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isAddress(host)) return rangeOfAddress(ipaddr.parse(host))
  if (METADATA_NAMES.includes(host)) return 'metadata'
  if (host === 'localhost' || host.endsWith('.localhost') || host.startsWith('localhost.localdomain')) return 'loopback'
  const isInside =
    CLUSTER_SUFFIXES.some((suffix) => host.endsWith(suffix)) ||
    /^kubernetes(\.default)?$/.test(host) ||
    SERVICE.test(host)
  return isInside ? 'clusterInternal' : undefined
}

const problemOf = (text: string, url: URL | null): UrlProblem | undefined => {
  if (text.length > MAX_URL) return 'tooLong'
  // The URL parser drops tabs and newlines silently, so this looks at the text.
  if (/[\s\p{Cc}]/u.test(text)) return 'controlCharacter'
  if (url === null) return 'relative'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'scheme'
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/*[^/?#]*@/i.test(text)) return 'credentials'
  if (url.hostname.replace(/\.$/, '').split('.').includes('')) return 'host'
  return text.includes('#') ? 'fragment' : undefined
}

export type EndpointRules = { readonly allowPrivate: boolean; readonly allowHttp: boolean }
export type ParsedEndpoint =
  | { readonly kind: 'endpoint'; readonly url: string; readonly findings: readonly FindingDetail[] }
  | { readonly kind: 'refused'; readonly finding: FindingDetail }

/** Is this a URL that a client outside the cluster can reach? What was refused is never repeated: it may hold a password. */
export const parseEndpoint = (field: EndpointField, value: string, rules: EndpointRules): ParsedEndpoint => {
  const text = value.trim()
  const url = URL.parse(text.slice(0, MAX_URL))
  const problem = problemOf(text, url)
  if (problem !== undefined || url === null)
    return { kind: 'refused', finding: { code: 'EndpointInvalid', field, problem: problem ?? 'relative' } }
  const range = rangeOfHost(url.hostname)
  if (range !== undefined && !(range === 'private' && rules.allowPrivate)) {
    return { kind: 'refused', finding: { code: 'EndpointNotPublic', field, host: printable(url.hostname, 253), range } }
  }
  const isHttp = url.protocol === 'http:'
  if (isHttp && !rules.allowHttp)
    return { kind: 'refused', finding: { code: 'EndpointInvalid', field, problem: 'insecure' } }
  // As it was written where that is the same URL: clients compare it as text with what people configured.
  const published = url.href === `${text}/` ? text : url.href
  const findings: FindingDetail[] = []
  if (isHttp) findings.push({ code: 'InsecureScheme', url: published })
  if (range === 'private') findings.push({ code: 'PrivateAddress', url: published })
  return { kind: 'endpoint', url: published, findings }
}
