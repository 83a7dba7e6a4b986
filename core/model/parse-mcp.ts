import * as z from 'zod'
import { map, metadata, metaOf, text } from './parse-metadata.ts'
import type { McpKind } from './resource.ts'
import type { ExternalAuthConfig, McpGroup, McpResource } from './snapshot.ts'

const named = z.object({ name: z.string() }).nullish()
const reference = z.union([z.string(), z.object({ name: z.string() })], 'is neither a name nor a reference').nullish()
const headers = z.array(z.object({ headerName: z.string() })).nullish()

/** One schema for all kinds: the fields of one do not exist in another, so none is read that is not there. */
export const mcpResource = z.object({
  metadata,
  spec: z
    .object({
      transport: text,
      proxyMode: text,
      image: text,
      remoteUrl: text,
      remoteURL: text,
      endpointPrefix: text,
      trustProxyHeaders: z.boolean().nullish(),
      groupRef: reference,
      config: z.object({ groupRef: reference }).nullish(),
      externalAuthConfigRef: named,
      headerForward: z
        .object({ addPlaintextHeaders: map.nullish(), addHeadersFromSecret: headers, addHeadersFromSecrets: headers })
        .nullish(),
      caBundleRef: map.nullish(),
      insecureAllowHTTP: z.boolean().nullish(),
    })
    .nullish(),
  status: z
    .object({ phase: text, conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish() })
    .nullish(),
})

const nameOf = (ref: z.infer<typeof reference>): string | undefined =>
  (typeof ref === 'string' ? ref : ref?.name) || undefined

export const mcpResourceOf = (kind: McpKind, { metadata, spec, status }: z.infer<typeof mcpResource>): McpResource => {
  const forward = spec?.headerForward
  const secretHeaders = [...(forward?.addHeadersFromSecret ?? []), ...(forward?.addHeadersFromSecrets ?? [])]
  return {
    kind,
    meta: metaOf(metadata),
    transport: spec?.transport || undefined,
    proxyMode: spec?.proxyMode || undefined,
    image: spec?.image || undefined,
    remoteUrl: spec?.remoteUrl || spec?.remoteURL || undefined,
    knowsItsPrefix: Boolean(spec?.endpointPrefix) || spec?.trustProxyHeaders === true,
    group: nameOf(spec?.groupRef) ?? nameOf(spec?.config?.groupRef),
    externalAuth: spec?.externalAuthConfigRef?.name || undefined,
    headerNames: [
      ...Object.keys(forward?.addPlaintextHeaders ?? {}),
      ...secretHeaders.map((header) => header.headerName),
    ],
    privateAuthority: spec?.caBundleRef != null,
    insecureAllowHttp: spec?.insecureAllowHTTP === true,
    status: status == null ? undefined : { phase: status.phase || undefined, conditions: status.conditions ?? [] },
  }
}

export const mcpGroup = z.object({ metadata })
export const mcpGroupOf = ({ metadata }: z.infer<typeof mcpGroup>): McpGroup => ({
  kind: 'MCPGroup',
  meta: metaOf(metadata),
})

export const externalAuthConfig = z.object({
  metadata,
  spec: z
    .object({
      type: text,
      headerInjection: z.object({ headerName: text }).nullish(),
      embeddedAuthServer: z.object({ upstreamProviders: z.array(z.unknown()).nullish() }).nullish(),
    })
    .nullish(),
})
export const externalAuthConfigOf = ({ metadata, spec }: z.infer<typeof externalAuthConfig>): ExternalAuthConfig => ({
  kind: 'MCPExternalAuthConfig',
  meta: metaOf(metadata),
  type: spec?.type ?? undefined,
  headerName: spec?.headerInjection?.headerName || undefined,
  upstreams: spec?.embeddedAuthServer?.upstreamProviders?.length ?? 0,
})
