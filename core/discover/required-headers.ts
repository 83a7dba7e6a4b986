import type { RemoteHeader } from '../model/entry.ts'
import type { FindingDetail } from '../model/finding.ts'
import { compareText } from '../model/order.ts'
import { printable, quote } from '../model/printable.ts'
import type { ExternalAuthConfig, McpResource } from '../model/snapshot.ts'

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

export type FindAuthConfig = (namespace: string, name: string) => ExternalAuthConfig | undefined
export type RequiredHeaders = { readonly headers: readonly RemoteHeader[]; readonly findings: readonly FindingDetail[] }

const authHeader = (config: ExternalAuthConfig | undefined): readonly string[] => {
  if (config?.type === 'unauthenticated') return []
  return [config?.headerName ?? 'Authorization']
}

/** The names of the headers that a client of an MCPServerEntry has to send itself. Their values never leave the cluster. */
export const readRequiredHeaders = (resource: McpResource, findAuthConfig: FindAuthConfig): RequiredHeaders => {
  const findings: FindingDetail[] = []
  const names: string[] = []
  if (resource.externalAuth !== undefined) {
    const config = findAuthConfig(resource.meta.namespace, resource.externalAuth)
    if (config === undefined)
      findings.push({
        code: 'ReferenceNotFound',
        kind: 'MCPExternalAuthConfig',
        name: printable(resource.externalAuth),
      })
    else if (config.upstreams > 1) findings.push({ code: 'ExternalAuthMultiUpstream', config: config.meta.name })
    names.push(...authHeader(config))
  }
  names.push(...[...resource.headerNames].sort(compareText))

  // The first spelling of a name stands, so that the header of externalAuthConfigRef wins over a forwarded one.
  const byName = new Map<string, RemoteHeader>()
  for (const name of names) {
    if (!HEADER_NAME.test(name)) findings.push({ code: 'HeaderNameInvalid', header: quote(name) })
    else if (!byName.has(name.toLowerCase())) byName.set(name.toLowerCase(), { name, isRequired: true, isSecret: true })
  }
  return { headers: [...byName.values()], findings }
}
