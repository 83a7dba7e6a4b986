import * as z from 'zod'
import { MCP_KINDS, type McpKind } from './resource.ts'
import type { ObjectMeta, SnapshotObject } from './snapshot.ts'

const ANNOTATIONS = 'toolhive.stacklok.dev/'
const GROUP = 'toolhive.stacklok.dev'

// kubectl and Helm print absent fields as null.
const text = z.string().nullish()
const named = z.object({ name: z.string() }).nullish()
const reference = z.union([z.string(), z.object({ name: z.string() })], 'is neither a name nor a reference').nullish()
const headers = z.array(z.object({ headerName: z.string() })).nullish()

const label = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'is no Kubernetes namespace')
  .max(63)
const subdomain = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'is no Kubernetes name')
  .max(253)
// Values are judged where they are used: one wrong annotation must not cost the resource.
const map = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'is not a map',
)

const metadata = z.object({
  namespace: label.nullish(),
  name: subdomain,
  uid: text,
  creationTimestamp: z.iso.datetime({ offset: true, error: 'is no time' }).nullish(),
  deletionTimestamp: z.unknown().optional(),
  labels: z.record(z.string(), z.string()).nullish(),
  annotations: map.nullish(),
})

const mcpResource = z.object({
  metadata,
  spec: z
    .object({
      transport: text,
      proxyMode: text,
      image: text,
      remoteUrl: text,
      remoteURL: text,
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

const mcpGroup = z.object({ metadata })

const externalAuthConfig = z.object({
  metadata,
  spec: z
    .object({
      type: text,
      headerInjection: z.object({ headerName: text }).nullish(),
      embeddedAuthServer: z.object({ upstreamProviders: z.array(z.unknown()).nullish() }).nullish(),
    })
    .nullish(),
})

const metaOf = (meta: z.infer<typeof metadata>): ObjectMeta => ({
  // What kubectl does with a manifest that names no namespace, in a context that names none.
  namespace: meta.namespace ?? 'default',
  name: meta.name,
  uid: meta.uid ?? undefined,
  createdAt: meta.creationTimestamp == null ? undefined : Date.parse(meta.creationTimestamp),
  terminating: meta.deletionTimestamp != null,
  labels: new Map(Object.entries(meta.labels ?? {})),
  annotations: new Map(
    Object.entries(meta.annotations ?? {})
      .filter(([key, value]) => key.startsWith(ANNOTATIONS) && value !== null)
      .map(([key, value]) => [key.slice(ANNOTATIONS.length), value]),
  ),
})

const nameOf = (ref: z.infer<typeof reference>): string | undefined =>
  (typeof ref === 'string' ? ref : ref?.name) || undefined

const mcpObject = (kind: McpKind, { metadata, spec, status }: z.infer<typeof mcpResource>): SnapshotObject => {
  const forward = spec?.headerForward
  const secretHeaders = [...(forward?.addHeadersFromSecret ?? []), ...(forward?.addHeadersFromSecrets ?? [])]
  return {
    kind,
    meta: metaOf(metadata),
    transport: spec?.transport || undefined,
    proxyMode: spec?.proxyMode || undefined,
    image: spec?.image || undefined,
    remoteUrl: spec?.remoteUrl || spec?.remoteURL || undefined,
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

const isMcpKind = (kind: string): kind is McpKind => MCP_KINDS.some((each) => each === kind)

export type ParsedObject =
  | { readonly kind: 'object'; readonly object: SnapshotObject }
  | { readonly kind: 'invalid'; readonly field: string; readonly problem: string }
  | { readonly kind: 'other' }

/** The end of a sentence that begins with the field. */
const problemOf = (issue: z.core.$ZodIssue | undefined): string => {
  if (issue?.code !== 'invalid_type') return issue?.code === 'too_big' ? 'is too long' : (issue?.message ?? 'is wrong')
  return issue.message.endsWith('received undefined') ? 'is missing' : `is no ${issue.expected}`
}

const orProblem = <T>(parsed: z.ZodSafeParseResult<T>, toObject: (data: T) => SnapshotObject): ParsedObject => {
  if (parsed.success) return { kind: 'object', object: toObject(parsed.data) }
  const [issue] = parsed.error.issues
  return { kind: 'invalid', field: issue?.path.join('.') || 'it', problem: problemOf(issue) }
}

/** Reads a Kubernetes object of any shape: one of ours, one of ours with a wrong field, or nothing to us. */
export const parseObject = (apiVersion: string, kind: string, value: unknown): ParsedObject => {
  if (!apiVersion.startsWith(`${GROUP}/`)) return { kind: 'other' }
  if (isMcpKind(kind)) return orProblem(mcpResource.safeParse(value), (data) => mcpObject(kind, data))
  if (kind === 'MCPGroup')
    return orProblem(mcpGroup.safeParse(value), (data) => ({ kind, meta: metaOf(data.metadata) }))
  if (kind !== 'MCPExternalAuthConfig') return { kind: 'other' }
  return orProblem(externalAuthConfig.safeParse(value), ({ metadata, spec }) => ({
    kind,
    meta: metaOf(metadata),
    type: spec?.type ?? undefined,
    headerName: spec?.headerInjection?.headerName || undefined,
    upstreams: spec?.embeddedAuthServer?.upstreamProviders?.length ?? 0,
  }))
}
