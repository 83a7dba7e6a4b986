import type { ManifestDocument, Manifests } from '../ports.ts'
import { canonicalJson, isDeeperThan } from './canonical-json.ts'
import { type Finding, type FindingDetail, findingOf } from './finding.ts'
import { compareText } from './order.ts'
import { parseObject } from './parse-object.ts'
import { printable } from './printable.ts'
import { MCP_KINDS, type Subject, subjectKey } from './resource.ts'
import type { McpResource, ReadAs, Scope, Snapshot, SnapshotObject } from './snapshot.ts'

export type SnapshotReading = { readonly snapshot: Snapshot; readonly findings: readonly Finding[] }

type Loose = Readonly<Record<string, unknown>>
const isMap = (value: unknown): value is Loose => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The objects of a document: itself, or those of a `List`, of a `MCPServerList`, or of a bare array. */
const objectsOf = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value.flatMap(objectsOf)
  if (!isMap(value) || typeof value.kind !== 'string' || !value.kind.endsWith('List') || !Array.isArray(value.items))
    return [value]
  // Items of a typed list carry neither apiVersion nor kind.
  const { apiVersion, kind } = value
  const own = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) }
  return value.items.flatMap((item) => objectsOf(isMap(item) ? { ...own, ...item } : item))
}

const MAX_DEPTH = 100
const CLUSTER_SCOPED = ['Namespace', 'GatewayClass']

const subjectOf = (source: string, object: Loose): Subject => {
  const meta = isMap(object.metadata) ? object.metadata : {}
  const word = (value: unknown, otherwise: string): string => (typeof value === 'string' ? printable(value) : otherwise)
  const namespace = CLUSTER_SCOPED.includes(String(object.kind)) ? '' : word(meta.namespace, 'default')
  return { source, kind: word(object.kind, ''), namespace, name: word(meta.name, '') }
}

type Copy = { readonly value: unknown; readonly object: SnapshotObject }

/** Copies with different content, in an order of their own: with that of the files, moving one would change the registry. */
const differing = (copies: readonly Copy[]): readonly SnapshotObject[] => {
  if (copies.length === 1) return copies.map(({ object }) => object)
  const byContent = new Map(copies.map(({ value, object }) => [canonicalJson(value), object]))
  return [...byContent].sort(([a], [b]) => compareText(a, b)).map(([, object]) => object)
}

const readDocument = (
  document: ManifestDocument,
  take: (value: unknown, document: ManifestDocument) => FindingDetail | undefined,
): readonly FindingDetail[] => {
  const unreadable = (problem: string): readonly FindingDetail[] => [
    { code: 'DocumentUnreadable', document: document.document, problem },
  ]
  if (document.kind === 'unreadable') return unreadable(document.problem)
  if (isDeeperThan(document.value, MAX_DEPTH)) return unreadable(`it is nested deeper than ${MAX_DEPTH} levels`)
  return objectsOf(document.value).flatMap((value) => take(value, document) ?? [])
}

const isMcpResource = (object: SnapshotObject): object is McpResource => MCP_KINDS.some((kind) => kind === object.kind)

const assemble = (source: string, readAs: ReadAs, scope: Scope, objects: readonly SnapshotObject[]): Snapshot => {
  const ofKind = <K extends SnapshotObject['kind']>(kind: K): readonly Extract<SnapshotObject, { kind: K }>[] =>
    objects.filter((object): object is Extract<SnapshotObject, { kind: K }> => object.kind === kind)
  return {
    source,
    readAs,
    scope,
    // A folder in which there is no object of a kind says that there is none.
    unlisted: new Map(),
    resources: objects.filter(isMcpResource),
    groups: ofKind('MCPGroup'),
    externalAuthConfigs: ofKind('MCPExternalAuthConfig'),
    routes: ofKind('HTTPRoute'),
    gateways: ofKind('Gateway'),
    gatewayClasses: ofKind('GatewayClass'),
    listenerSets: ofKind('ListenerSet'),
    referenceGrants: ofKind('ReferenceGrant'),
    services: ofKind('Service'),
    namespaces: ofKind('Namespace'),
  }
}

/** Documents in any order become one snapshot; what cannot be read is a finding, and the rest goes on. */
export const parseSnapshot = (source: string, readAs: ReadAs, scope: Scope, manifests: Manifests): SnapshotReading => {
  const findings: Finding[] = []
  const found = new Map<string, { readonly subject: Subject; readonly copies: Copy[] }>()

  /** Takes an object in, or says what is wrong with the document that it stands in. */
  const take = (value: unknown, { file, document }: ManifestDocument): FindingDetail | undefined => {
    if (value === null || value === undefined) return undefined
    if (!isMap(value)) return { code: 'DocumentUnreadable', document, problem: 'it is not a map of fields' }
    const { apiVersion, kind } = value
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') return { code: 'NotAManifest', document }
    const parsed = parseObject(apiVersion, kind, value)
    const subject = subjectOf(source, value)
    if (parsed.kind === 'invalid')
      findings.push(
        findingOf(subject, {
          code: 'ResourceInvalid',
          file: printable(file, 200),
          field: parsed.field,
          problem: parsed.problem,
        }),
      )
    if (parsed.kind === 'object') {
      const known = found.get(subjectKey(subject)) ?? { subject, copies: [] }
      known.copies.push({ value, object: parsed.object })
      found.set(subjectKey(subject), known)
    }
    return undefined
  }

  for (const document of manifests.documents) {
    const file: Subject = { source, kind: 'File', namespace: '', name: printable(document.file, 200) }
    for (const detail of readDocument(document, take)) findings.push(findingOf(file, detail))
  }
  if (manifests.documents.length === 0) {
    findings.push(
      findingOf(
        { source, kind: 'File', namespace: '', name: printable(manifests.root, 200) },
        { code: 'NothingToRead' },
      ),
    )
  }

  const taken: SnapshotObject[] = []
  for (const { subject, copies } of found.values()) {
    const [first, ...others] = differing(copies)
    if (first === undefined) continue
    taken.push(first)
    if (others.length > 0) findings.push(findingOf(subject, { code: 'ResourceDuplicated', copies: others.length + 1 }))
  }
  return { snapshot: assemble(source, readAs, scope, taken), findings }
}
