import type { Remote } from '../model/entry.ts'
import type { FindingDetail } from '../model/finding.ts'
import { sortOf } from '../model/printable.ts'
import type { McpResource } from '../model/snapshot.ts'
import { parseEndpoint } from './endpoint.ts'
import type { Field } from './fields.ts'
import type { DiscoveryOptions } from './options.ts'
import { type FindAuthConfig, readRequiredHeaders } from './required-headers.ts'
import { readTransport } from './transport.ts'

/** Does a resource say where it is? An empty annotation says nothing. */
export const namesUrl = (annotations: ReadonlyMap<string, unknown>): boolean => {
  const value = annotations.get('registry-url')
  return typeof value === 'string' ? value.trim() !== '' : value !== undefined
}

/** The annotation as it was written: a URL is judged, never tidied up. */
const readUrl = ({ meta }: McpResource): Field<string> => {
  const value = meta.annotations.get('registry-url')
  if (typeof value === 'string' || value === undefined) return { value: value?.trim() || undefined, findings: [] }
  return {
    value: undefined,
    findings: [{ code: 'AnnotationInvalid', annotation: 'registry-url', problem: `is ${sortOf(value)}, not a string` }],
  }
}

export type DirectRemote = { readonly remotes: readonly Remote[]; readonly findings: readonly FindingDetail[] }

/** The endpoint that the resource itself names: its `registry-url`, or the `remoteUrl` of an MCPServerEntry. */
export const readDirectRemote = (
  resource: McpResource,
  findAuthConfig: FindAuthConfig,
  options: DiscoveryOptions,
): DirectRemote => {
  const isEntry = resource.kind === 'MCPServerEntry'
  const transport = readTransport(resource)
  const annotated = readUrl(resource)
  const required = isEntry ? readRequiredHeaders(resource, findAuthConfig) : { headers: [], findings: [] }
  const findings: FindingDetail[] = [...annotated.findings, ...required.findings]
  if (transport.kind === 'bad') findings.push(transport.finding)
  if (isEntry && resource.privateAuthority) findings.push({ code: 'PrivateCertificateAuthority' })

  const url = annotated.value ?? (isEntry ? resource.remoteUrl : undefined)
  if (url === undefined) return { remotes: [], findings: [...findings, { code: 'EndpointMissing' }] }
  const endpoint = parseEndpoint(annotated.value === undefined ? 'spec.remoteUrl' : 'registry-url', url, {
    allowPrivate: options.allowPrivateEndpoints,
    allowHttp: !isEntry || resource.insecureAllowHttp,
  })
  if (endpoint.kind === 'refused') return { remotes: [], findings: [...findings, endpoint.finding] }
  const all = [...findings, ...endpoint.findings]
  if (transport.kind === 'bad') return { remotes: [], findings: all }
  const headers = required.headers.length === 0 ? {} : { headers: required.headers }
  return { remotes: [{ type: transport.transport, url: endpoint.url, ...headers }], findings: all }
}
