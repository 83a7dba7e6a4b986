import type { RemoteHeader } from '../model/entry.ts'
import type { FindingDetail } from '../model/finding.ts'
import { compareText } from '../model/order.ts'
import { printable, quote } from '../model/printable.ts'
import type { ExternalAuthConfig, McpResource } from '../model/snapshot.ts'

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

export type FindAuthConfig = (
  namespace: string,
  name: string,
) => ExternalAuthConfig | 'missing' | 'unreadable' | 'denied'
export type RequiredHeaders = { readonly headers: readonly RemoteHeader[]; readonly findings: readonly FindingDetail[] }

const authHeader = (config: ReturnType<FindAuthConfig>): readonly string[] => {
  if (typeof config === 'string') return ['Authorization']
  return config.type === 'unauthenticated' ? [] : [config.headerName ?? 'Authorization']
}

/** The names of the headers that a client of an MCPServerEntry has to send itself. Their values never leave the cluster. */
export const readRequiredHeaders = (resource: McpResource, findAuthConfig: FindAuthConfig): RequiredHeaders => {
  const findings: FindingDetail[] = []
  const { externalAuth } = resource
  const config = externalAuth === undefined ? undefined : findAuthConfig(resource.meta.namespace, externalAuth)
  // That a whole kind may not be read is said once, about the source.
  if (externalAuth !== undefined && (config === 'missing' || config === 'unreadable')) {
    findings.push({
      code: config === 'missing' ? 'ReferenceNotFound' : 'ReferenceUnreadable',
      kind: 'MCPExternalAuthConfig',
      name: printable(externalAuth),
    })
  }
  if (typeof config === 'object' && config.upstreams > 1)
    findings.push({ code: 'ExternalAuthMultiUpstream', config: config.meta.name })

  // The first spelling of a name stands, so that the header of externalAuthConfigRef wins over a forwarded one.
  const names = [...(config === undefined ? [] : authHeader(config)), ...[...resource.headerNames].sort(compareText)]
  const byName = new Map<string, RemoteHeader>()
  const [bad, ...others] = names.filter((name) => !HEADER_NAME.test(name))
  if (bad !== undefined) findings.push({ code: 'HeaderNameInvalid', header: quote(bad), count: others.length + 1 })
  for (const name of names) {
    if (HEADER_NAME.test(name) && !byName.has(name.toLowerCase()))
      byName.set(name.toLowerCase(), { name, isRequired: true, isSecret: true })
  }
  return { headers: [...byName.values()], findings }
}
