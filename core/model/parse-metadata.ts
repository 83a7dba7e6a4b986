import * as z from 'zod'
import { isMap } from './is-map.ts'
import type { Selector } from './selector.ts'
import type { ObjectMeta } from './snapshot.ts'

const ANNOTATIONS = 'toolhive.stacklok.dev/'

// kubectl and Helm print absent fields as null.
export const text = z.string().nullish()
export const count = z.number().nullish()
// Values are judged where they are used: one wrong annotation must not cost the resource.
export const map = z.custom<object>(isMap, 'is not a map')

const label = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'is no Kubernetes namespace')
  .max(63)
// Names of Namespaces, Services and our resources; a GatewayClass or a Gateway may have dots.
const subdomain = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'is no Kubernetes name')
  .max(253)

export const metadata = z.object({
  namespace: label.or(z.literal('')).nullish(),
  name: subdomain,
  uid: text,
  generation: count,
  creationTimestamp: z.iso.datetime({ offset: true, error: 'is no time' }).nullish(),
  deletionTimestamp: z.unknown().optional(),
  labels: map.nullish(),
  annotations: map.nullish(),
})
export type Metadata = z.infer<typeof metadata>

export const metaOf = (meta: Metadata): ObjectMeta => ({
  // What kubectl does with a manifest that names no namespace, in a context that names none.
  namespace: meta.namespace || 'default',
  name: meta.name,
  uid: meta.uid ?? undefined,
  createdAt: meta.creationTimestamp == null ? undefined : Date.parse(meta.creationTimestamp),
  terminating: meta.deletionTimestamp != null,
  labels: new Map(
    Object.entries(meta.labels ?? {}).map(([key, value]) => [key, String(typeof value === 'object' ? '' : value)]),
  ),
  annotations: new Map(
    Object.entries(meta.annotations ?? {})
      .filter(([key]) => key.startsWith(ANNOTATIONS))
      // As an API server reads it: a key without a value is there, and empty.
      .map(([key, value]) => [key.slice(ANNOTATIONS.length), value ?? '']),
  ),
})

/** A cluster-scoped object: whatever namespace a file gives it does not count. */
export const clusterMetaOf = (meta: Metadata): ObjectMeta => ({ ...metaOf(meta), namespace: '' })

export const labelSelector = z.object({
  matchLabels: z.record(z.string(), z.string()).nullish(),
  matchExpressions: z
    .array(z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).nullish() }))
    .nullish(),
})

const OPERATORS: Readonly<Record<string, 'in' | 'notIn' | 'exists' | 'absent'>> = {
  In: 'in',
  NotIn: 'notIn',
  Exists: 'exists',
  DoesNotExist: 'absent',
}

/** An operator that we do not know selects nothing: `in` without values. */
export const selectorOf = ({ matchLabels, matchExpressions }: z.infer<typeof labelSelector>): Selector => [
  ...Object.entries(matchLabels ?? {}).map(([key, value]) => ({ key, operator: 'in' as const, values: [value] })),
  ...(matchExpressions ?? []).map(({ key, operator, values }) => {
    const known = OPERATORS[operator]
    return known === undefined
      ? { key, operator: 'in' as const, values: [] }
      : { key, operator: known, values: values ?? [] }
  }),
]
