import { isMap } from './is-map.ts'
import { printable } from './printable.ts'
import type { Subject } from './resource.ts'

const CLUSTER_SCOPED = ['Namespace', 'GatewayClass']

/** What a value of any shape calls itself, for a finding about it. */
export const subjectOf = (source: string, object: Readonly<Record<string, unknown>>): Subject => {
  const meta = isMap(object.metadata) ? object.metadata : {}
  const word = (value: unknown, otherwise: string): string =>
    typeof value === 'string' ? printable(value, 253) : otherwise
  const namespace = CLUSTER_SCOPED.includes(String(object.kind)) ? '' : word(meta.namespace, '') || 'default'
  return { source, kind: word(object.kind, ''), namespace, name: word(meta.name, '') }
}
