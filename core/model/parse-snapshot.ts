import { assembleSnapshot } from './assemble-snapshot.ts'
import { canonicalJson, isDeeperThan } from './canonical-json.ts'
import { type Finding, type FindingDetail, findingOf } from './finding.ts'
import { isMap } from './is-map.ts'
import type { ManifestDocument, Manifests } from './manifests.ts'
import { isWithdrawn } from './opt-out.ts'
import { compareBy, compareText } from './order.ts'
import { isKnownKind, parseObject } from './parse-object.ts'
import { printable } from './printable.ts'
import { type Subject, subjectKey } from './resource.ts'
import type { ReadAs, Scope, SnapshotObject, SnapshotReading } from './snapshot.ts'
import { subjectOf } from './subject-of.ts'

const MAX_DEPTH = 100

/** What must not look like a document that lacks some objects, or all of them. */
const NO_LIST = Symbol('its items are no list')
const PART_OF_A_LIST = Symbol('it is one page of a longer list (metadata.continue); ask for all of it')
const API_ERROR = Symbol('it is the error of an API server, not what was asked for')

/** The objects of a document: itself, or those of a `List`, of an `MCPServerList`, or of a bare array. */
const objectsOf = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value.flatMap(objectsOf)
  if (isMap(value) && value.kind === 'Status' && value.apiVersion === 'v1') return [API_ERROR]
  if (!isMap(value) || typeof value.kind !== 'string' || !value.kind.endsWith('List') || !('items' in value))
    return [value]
  if (!Array.isArray(value.items)) return value.items === null ? [] : [NO_LIST]
  if (isMap(value.metadata) && typeof value.metadata.continue === 'string' && value.metadata.continue !== '')
    return [PART_OF_A_LIST]
  // Items of a typed list carry neither apiVersion nor kind.
  const { apiVersion, kind } = value
  const own = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) }
  return value.items.flatMap((item) => objectsOf(isMap(item) ? { ...own, ...item } : item))
}

type Copy = { readonly value: unknown; readonly object: SnapshotObject }

/** A copy that keeps something back counts for more than one that says nothing, and that for more than one that opts in. */
const restraint = ({ object: { meta } }: Copy): number => {
  if (isWithdrawn(meta)) return 0
  return meta.annotations.get('registry-export') === 'true' ? 2 : 1
}

/** Copies with different content, in an order of their own: with that of the files, moving one would change the registry. */
const differing = (copies: readonly Copy[]): readonly SnapshotObject[] => {
  if (copies.length === 1) return copies.map(({ object }) => object)
  const byContent = new Map(copies.map((copy) => [canonicalJson(copy.value), copy]))
  const order = compareBy<readonly [string, Copy]>(
    ([, a], [, b]) => restraint(a) - restraint(b),
    ([a], [b]) => compareText(a, b),
  )
  return [...byContent].sort(order).map(([, { object }]) => object)
}

/** Collects what was read, and what should be said about it. */
const createCollection = (source: string) => {
  const findings: Finding[] = []
  const found = new Map<string, { readonly subject: Subject; readonly copies: Copy[] }>()
  const unreadable = new Set<string>()

  /** Takes an object in, or says what is wrong with the document that it stands in. */
  const take = (value: unknown, { file, document }: ManifestDocument): FindingDetail | undefined => {
    if (value === null || value === undefined) return undefined
    if (!isMap(value))
      return {
        code: 'DocumentUnreadable',
        document,
        problem: (typeof value === 'symbol' ? value.description : undefined) ?? 'it is not a map of fields',
      }
    const { apiVersion, kind } = value
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') return { code: 'NotAManifest', document }
    const parsed = parseObject(apiVersion, kind, value)
    const called = subjectOf(source, value)
    if (parsed.kind === 'invalid') {
      unreadable.add(subjectKey(called))
      findings.push(
        findingOf(called, {
          code: 'ResourceInvalid',
          file: printable(file, 200),
          field: parsed.field,
          problem: parsed.problem,
        }),
      )
    }
    if (parsed.kind === 'other' && !isKnownKind(apiVersion, kind))
      findings.push(findingOf(called, { code: 'KindUnknown' }))
    if (parsed.kind === 'object') {
      const { object } = parsed
      const subject: Subject = { source, kind: object.kind, namespace: object.meta.namespace, name: object.meta.name }
      const known = found.get(subjectKey(subject)) ?? { subject, copies: [] }
      known.copies.push({ value, object })
      found.set(subjectKey(subject), known)
    }
    return undefined
  }
  return { findings, found, unreadable, take }
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

/** Documents in any order become one snapshot; what cannot be read is a finding, and the rest goes on. */
export const parseSnapshot = (source: string, readAs: ReadAs, scope: Scope, manifests: Manifests): SnapshotReading => {
  const { findings, found, unreadable, take } = createCollection(source)
  const fileOf = (name: string): Subject => ({ source, kind: 'File', namespace: '', name: printable(name, 200) })
  for (const document of manifests.documents) {
    for (const detail of readDocument(document, take)) findings.push(findingOf(fileOf(document.file), detail))
  }
  if (manifests.documents.length === 0) findings.push(findingOf(fileOf(manifests.root), { code: 'NothingToRead' }))

  const objects: SnapshotObject[] = []
  for (const [key, { subject, copies }] of found) {
    const [first, ...others] = differing(copies)
    // Beside a copy that cannot be read nobody knows which one is meant.
    if (first === undefined || unreadable.has(key)) continue
    objects.push(first)
    if (others.length > 0) findings.push(findingOf(subject, { code: 'ResourceDuplicated', copies: others.length + 1 }))
  }
  // A folder in which there is no object of a kind says that there is none.
  const whole = { source, readAs, scope, unlisted: new Map(), denials: [], unreadable }
  return { snapshot: assembleSnapshot(whole, objects), findings }
}
