import * as z from 'zod'
import {
  type BackendRef,
  type Condition,
  GATEWAY_GROUP,
  type HttpRoute,
  type ParentRef,
  type Rewrite,
  type RouteMatch,
  type RouteRule,
} from './gateway.ts'
import { count, metadata, metaOf, text } from './parse-metadata.ts'

export const conditions = z
  .array(z.object({ type: z.string(), status: z.string(), reason: text, message: text, observedGeneration: count }))
  .nullish()

export const conditionsOf = (given: z.infer<typeof conditions>): readonly Condition[] =>
  (given ?? []).map(({ type, status, reason, message, observedGeneration }) => ({
    type,
    status,
    reason: reason ?? '',
    message: message ?? '',
    observedGeneration: observedGeneration ?? 0,
  }))

const parentRef = z.object({
  group: text,
  kind: text,
  namespace: text,
  name: z.string(),
  sectionName: text,
  port: count,
})

const pathModifier = z.object({ type: text, replaceFullPath: text, replacePrefixMatch: text })
const filters = z
  .array(z.object({ type: text, urlRewrite: z.object({ path: pathModifier.nullish() }).nullish() }))
  .nullish()

const match = z.object({
  path: z.object({ type: text, value: text }).nullish(),
  method: text,
  headers: z.array(z.unknown()).nullish(),
  queryParams: z.array(z.unknown()).nullish(),
})

const backendRef = z.object({
  group: text,
  kind: text,
  namespace: text,
  name: z.string(),
  port: count,
  weight: count,
  filters,
})

const ruleSchema = z.object({ matches: z.array(match).nullish(), filters, backendRefs: z.array(backendRef).nullish() })

export const httpRoute = z.object({
  metadata,
  spec: z
    .object({
      parentRefs: z.array(parentRef).nullish(),
      useDefaultGateways: text,
      hostnames: z.array(z.string()).nullish(),
      rules: z.array(ruleSchema).nullish(),
    })
    .nullish(),
  status: z.object({ parents: z.array(z.object({ parentRef, controllerName: text, conditions })).nullish() }).nullish(),
})

/** Only an absent group has a default: an empty one is the core group. */
const parentRefOf = (ref: z.infer<typeof parentRef>, namespace: string): ParentRef => ({
  group: ref.group ?? GATEWAY_GROUP,
  kind: ref.kind ?? 'Gateway',
  namespace: ref.namespace ?? namespace,
  name: ref.name,
  sectionName: ref.sectionName || undefined,
  port: ref.port ?? undefined,
})

const matchOf = ({ path, method, headers, queryParams }: z.infer<typeof match>): RouteMatch => ({
  pathType: path?.type ?? 'PathPrefix',
  path: path?.value ?? '/',
  method: method || undefined,
  needsHeader: (headers ?? []).length > 0,
  needsQueryParam: (queryParams ?? []).length > 0,
})

const hasFilter = (given: z.infer<typeof filters>, type: string): boolean =>
  (given ?? []).some((filter) => filter.type === type)

const rewriteOf = (given: z.infer<typeof filters>): Rewrite => {
  const path = (given ?? []).find(({ type }) => type === 'URLRewrite')?.urlRewrite?.path
  if (path?.replaceFullPath != null) return { kind: 'full', value: path.replaceFullPath }
  return path?.replacePrefixMatch == null ? { kind: 'none' } : { kind: 'prefix', value: path.replacePrefixMatch || '/' }
}

const backendOf = (ref: z.infer<typeof backendRef>, namespace: string): BackendRef => ({
  group: ref.group ?? '',
  kind: ref.kind ?? 'Service',
  namespace: ref.namespace ?? namespace,
  name: ref.name,
  port: ref.port ?? undefined,
  weight: ref.weight ?? 1,
  redirects: hasFilter(ref.filters, 'RequestRedirect'),
  hasExtension: hasFilter(ref.filters, 'ExtensionRef'),
  rewrite: rewriteOf(ref.filters),
})

const DEFAULT_MATCH = matchOf({})

export const httpRouteOf = ({ metadata, spec, status }: z.infer<typeof httpRoute>): HttpRoute => {
  const meta = metaOf(metadata)
  const given = spec?.rules ?? []
  const rules = (given.length === 0 ? [{}] : given).map(
    ({ matches, filters: own, backendRefs }: z.infer<typeof ruleSchema>): RouteRule => ({
      matches: matches == null || matches.length === 0 ? [DEFAULT_MATCH] : matches.map(matchOf),
      backends: (backendRefs ?? []).map((ref) => backendOf(ref, meta.namespace)),
      redirects: hasFilter(own, 'RequestRedirect'),
      hasExtension: hasFilter(own, 'ExtensionRef'),
      rewrite: rewriteOf(own),
    }),
  )
  return {
    kind: 'HTTPRoute',
    meta,
    generation: metadata.generation ?? 0,
    parentRefs: (spec?.parentRefs ?? []).map((ref) => parentRefOf(ref, meta.namespace)),
    useDefaultGateways: spec?.useDefaultGateways === 'All',
    hostnames: spec?.hostnames ?? [],
    rules,
    status:
      status == null
        ? undefined
        : (status.parents ?? []).map(({ parentRef: ref, controllerName, conditions: given }) => ({
            ref: parentRefOf(ref, meta.namespace),
            controllerName: controllerName ?? '',
            conditions: conditionsOf(given),
          })),
  }
}
