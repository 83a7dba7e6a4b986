import type { Manifests } from '../ports.ts'
import { canonicalJson, isDeeperThan } from './canonical-json.ts'
import { type Finding, type FindingDetail, findingOf } from './finding.ts'
import { compareText } from './order.ts'
import { parseObject } from './parse-object.ts'
import { printable } from './printable.ts'
import { type Subject, subjectKey } from './resource.ts'
import type { ReadAs, Scope, Snapshot, SnapshotObject } from './snapshot.ts'

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

const subjectOf = (source: string, object: Loose): Subject => {
  const meta = isMap(object.metadata) ? object.metadata : {}
  const word = (value: unknown, otherwise: string): string => (typeof value === 'string' ? printable(value) : otherwise)
  return { source, kind: word(object.kind, ''), namespace: word(meta.namespace, 'default'), name: word(meta.name, '') }
}

type Copy = { readonly value: unknown; readonly object: SnapshotObject }

/** Copies with different content, in an order of their own: with that of the files, moving one would change the registry. */
const differing = (copies: readonly Copy[]): readonly SnapshotObject[] => {
  if (copies.length === 1) return copies.map(({ object }) => object)
  const byContent = new Map(copies.map(({ value, object }) => [canonicalJson(value), object]))
  return [...byContent].sort(([a], [b]) => compareText(a, b)).map(([, object]) => object)
}

/** Documents in any order become one snapshot; what cannot be read is a finding, and the rest goes on. */
export const parseSnapshot = (source: string, readAs: ReadAs, scope: Scope, manifests: Manifests): SnapshotReading => {
  const findings: Finding[] = []
  const found = new Map<string, { readonly subject: Subject; readonly copies: Copy[] }>()

  const read = (value: unknown, reportFile: (detail: FindingDetail) => void, document: number): void => {
    if (value === null || value === undefined) return
    if (!isMap(value)) return reportFile({ code: 'DocumentUnreadable', document, problem: 'it is not a map of fields' })
    const { apiVersion, kind } = value
    if (typeof apiVersion !== 'string' || typeof kind !== 'string')
      return reportFile({ code: 'NotAManifest', document })
    const parsed = parseObject(apiVersion, kind, value)
    if (parsed.kind === 'other') return
    const subject = subjectOf(source, value)
    if (parsed.kind === 'invalid') {
      findings.push(findingOf(subject, { code: 'ResourceInvalid', field: parsed.field, problem: parsed.problem }))
      return
    }
    const key = subjectKey(subject)
    const known = found.get(key)
    if (known === undefined) found.set(key, { subject, copies: [{ value, object: parsed.object }] })
    else known.copies.push({ value, object: parsed.object })
  }

  for (const document of manifests.documents) {
    const file: Subject = { source, kind: 'File', namespace: '', name: printable(document.file, 200) }
    const report = (detail: FindingDetail): void => void findings.push(findingOf(file, detail))
    if (document.kind === 'unreadable')
      report({ code: 'DocumentUnreadable', document: document.document, problem: document.problem })
    else if (isDeeperThan(document.value, MAX_DEPTH)) {
      report({
        code: 'DocumentUnreadable',
        document: document.document,
        problem: `it is nested deeper than ${MAX_DEPTH} levels`,
      })
    } else for (const value of objectsOf(document.value)) read(value, report, document.document)
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
  return {
    snapshot: {
      source,
      readAs,
      scope,
      resources: taken.filter((object) => object.kind !== 'MCPGroup' && object.kind !== 'MCPExternalAuthConfig'),
      groups: taken.filter((object) => object.kind === 'MCPGroup'),
      externalAuthConfigs: taken.filter((object) => object.kind === 'MCPExternalAuthConfig'),
    },
    findings,
  }
}
