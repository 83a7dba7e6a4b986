import ipaddr from 'ipaddr.js'
import type { EndpointField, FindingDetail, HostRange, UrlProblem } from '../model/finding.ts'
import { printable } from '../model/printable.ts'

const MAX_URL = 2048
const METADATA_HOSTS = [
  'metadata.google.internal',
  'metadata.goog',
  'instance-data.ec2.internal',
  '100.100.100.200',
  '168.63.129.16',
  '169.254.169.254',
  'fd00:ec2::254',
]
const CLUSTER_SUFFIXES = ['.svc', '.cluster.local']

const RANGES: Partial<Record<string, HostRange>> = {
  loopback: 'loopback',
  linkLocal: 'linkLocal',
  private: 'private',
  uniqueLocal: 'private',
  carrierGradeNat: 'private',
  siteLocal: 'private',
  unicast: undefined,
}

const rangeOfAddress = (address: ipaddr.IPv4 | ipaddr.IPv6): HostRange | undefined => {
  if (address instanceof ipaddr.IPv6) {
    if (address.isIPv4MappedAddress()) return rangeOfAddress(address.toIPv4Address())
    // 64:ff9b::/96 leads to the IPv4 address in its last four bytes.
    if (address.range() === 'rfc6052') return rangeOfAddress(new ipaddr.IPv4(address.toByteArray().slice(12)))
    // ipaddr.js calls the deprecated site-local block reserved.
    if (address.match(ipaddr.IPv6.parse('fec0::'), 10)) return 'private'
  }
  const range = address.range()
  return range in RANGES ? RANGES[range] : 'reserved'
}

/** Which hosts no reader of a registry can reach, decided by name alone: nothing is ever looked up or probed. */
const rangeOfHost = (hostname: string): HostRange | undefined => {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  if (METADATA_HOSTS.includes(host)) return 'metadata'
  // The URL parser has brought every IPv4 address into this form already.
  if (host.includes(':') || /^[\d.]+$/.test(host)) return rangeOfAddress(ipaddr.parse(host))
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback'
  if (CLUSTER_SUFFIXES.some((suffix) => host.endsWith(suffix)) || /^kubernetes\.default(\.|$)/.test(host))
    return 'clusterInternal'
  // A name without a dot is a Service of somebody's namespace.
  return host.includes('.') ? undefined : 'clusterInternal'
}

const problemOf = (text: string, url: URL | null): UrlProblem | undefined => {
  if (text.length > MAX_URL) return 'tooLong'
  // The URL parser drops tabs and newlines silently, so this looks at the text.
  if (/[\s\p{Cc}]/u.test(text)) return 'controlCharacter'
  if (url === null) return 'relative'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'scheme'
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/*[^/?#]*@/i.test(text)) return 'credentials'
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
