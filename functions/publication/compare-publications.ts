import type { Bytes } from '../../core/model/bytes.ts'
import { canonicalJson } from '../../core/model/canonical-json.ts'
import { nameOf, versionOf } from '../../core/model/columns.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { isMap } from '../../core/model/is-map.ts'
import type { HistoryItem } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { type DiffEntry, type DocumentDiff, diffDocuments } from '../../core/publish/diff-documents.ts'
import { slicesOf } from '../../core/serve/layout.ts'
import { createChunkCache } from './chunk-cache.ts'
import { registryKeys } from './keys.ts'
import { readJson } from './objects.ts'
import { type OpenPublication, openPublication } from './open-publication.ts'

export type SaidFinding = Readonly<Record<string, unknown>>

/** What changed between two publications of a registry. */
export type Comparison = DocumentDiff & {
  readonly appeared: readonly SaidFinding[]
  readonly went: readonly SaidFinding[]
}

const isFindings = (value: unknown): value is readonly SaidFinding[] => Array.isArray(value) && value.every(isMap)

/** The listed servers, without those whose chunk is also in the other publication: they are the same there. */
const entriesOf = async (
  { columns, layout, read }: OpenPublication,
  isShared: (chunk: string) => boolean,
): Promise<readonly DiffEntry[]> => {
  const ranges = layout.chunks.flatMap(({ digest }, index) => {
    const [from, to] = [layout.firstRows[index] ?? 0, layout.firstRows[index + 1] ?? 0]
    return isShared(digest) || from >= layout.runs[2] ? [] : [[from, to] as const]
  })
  const entries = await inParallel(ranges, async ([from, to]) => {
    const parts = await Promise.all(slicesOf(layout, columns, from, to).map(read))
    return parts
      .flatMap((part) => parseEntries(part))
      .map((server, index) => {
        const row = from + index
        return { name: nameOf(columns, row), version: versionOf(columns, row), server }
      })
  })
  return entries.flat()
}

const parseEntries = (part: Bytes): readonly unknown[] => {
  const entries: unknown = JSON.parse(`[${new TextDecoder().decode(part)}]`)
  return Array.isArray(entries) ? entries.map((entry) => (isMap(entry) ? entry.server : undefined)) : []
}

const chunksOf = ({ layout }: OpenPublication): ReadonlySet<string> =>
  new Set(layout.chunks.map(({ digest }) => digest))

/** Who is concerned and what is said; when it began, or how long it may last, is not another finding. */
const identityOf = ({ until: _, observedAt: __, message: ___, ...finding }: SaidFinding): string =>
  canonicalJson(finding)

const onlyIn = (some: readonly SaidFinding[], others: readonly SaidFinding[]): readonly SaidFinding[] => {
  const known = new Set(others.map(identityOf))
  return some.filter((finding) => !known.has(identityOf(finding)))
}

export const compareFindings = (
  before: readonly SaidFinding[],
  after: readonly SaidFinding[],
): Pick<Comparison, 'appeared' | 'went'> => ({ appeared: onlyIn(after, before), went: onlyIn(before, after) })

const readFindings = async (store: BlobStore, registry: string, publication: string): Promise<readonly SaidFinding[]> =>
  (await readJson(store, registryKeys(registry).findings(publication), isFindings))?.value ?? []

export const comparePublications = async (
  store: BlobStore,
  registry: string,
  before: HistoryItem | undefined,
  after: HistoryItem,
): Promise<Comparison> => {
  const open = async (item: HistoryItem): Promise<OpenPublication> =>
    openPublication(store, createChunkCache(), registry, item.publication)
  const [old, now] = await Promise.all([before && open(before), open(after)])
  const [oldChunks, newChunks] = [old ? chunksOf(old) : new Set<string>(), chunksOf(now)]
  const [oldEntries, newEntries, oldFindings, newFindings] = await Promise.all([
    old === undefined ? [] : entriesOf(old, (chunk) => newChunks.has(chunk)),
    entriesOf(now, (chunk) => oldChunks.has(chunk)),
    before === undefined ? [] : readFindings(store, registry, before.publication),
    readFindings(store, registry, after.publication),
  ])
  return { ...diffDocuments(oldEntries, newEntries), ...compareFindings(oldFindings, newFindings) }
}
