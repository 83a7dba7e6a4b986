import { canonicalJson } from './canonical-json.ts'
import { digestOf } from './digest.ts'
import { isMap } from './is-map.ts'

/** A time as it is stored: ISO 8601 in UTC with milliseconds, so that text order is the order in time. */
export type Time = string

export const timeOf = (milliseconds: number): Time => new Date(milliseconds).toISOString()

/** What made a pointer: a new document, only a new state, or a person. */
export type PointerAction = 'write' | 'note' | 'rollback' | 'approve'

export type HistoryItem = {
  readonly sequence: number
  readonly action: PointerAction
  readonly at: Time
  readonly publication: string
  readonly document: string
  readonly state: string
  /** How many servers are listed in it. */
  readonly servers: number
}

/** Which result of a source a publication was made from. */
export type SourceUse = { readonly observedAt: Time; readonly hash: string; readonly isStale?: true }

/** `current.json`: what a registry is now. It is only ever replaced by who has read it. */
export type Pointer = {
  /** One more with every write of the pointer. */
  readonly sequence: number
  /** The folder of the publication, `<sequence>-<digest of its manifest>`. */
  readonly publication: string
  /** Digest of what is served. */
  readonly document: string
  readonly state: string
  /** Digest of inputs and configuration, without times. */
  readonly input: string
  readonly at: Time
  /** The earliest end of a grace or a tombstone. */
  readonly nextDeadline?: Time
  readonly sources: Readonly<Record<string, SourceUse>>
  /** The newest last; that is this pointer itself. */
  readonly history: readonly HistoryItem[]
  /** After a rollback: the input that does not end it. */
  readonly heldInput?: string
  /** What a person allowed to be lost. */
  readonly approvedLosses?: readonly string[]
}

export const RUNS = ['latest', 'older', 'deleted'] as const

export type Run = (typeof RUNS)[number]

export const runOf = ({ status, isLatest }: { readonly status: string; readonly isLatest: boolean }): Run =>
  status === 'deleted' ? 'deleted' : isLatest ? 'latest' : 'older'

export type ChunkRef = { readonly digest: string; readonly entries: number; readonly bytes: number }

/** `manifest.json` of a publication: which bytes it consists of. */
export type Manifest = {
  readonly document: string
  readonly runs: Readonly<Record<Run, readonly ChunkRef[]>>
  /** Digest of the columns before they were compressed. */
  readonly columns: string
}

/** `index.json`: what a reader must know before it reads a registry. */
export type Index = {
  readonly registries: readonly { readonly name: string }[]
  readonly auth: { readonly mode: string }
  /** Digest of all that a registry is made by: a sync with another one must not undo it. */
  readonly configuration: string
  /** When the sync began that brought this: one that began before it has an older configuration. */
  readonly at: Time
  /** In milliseconds. */
  readonly serve: { readonly maxAge: number; readonly staleAfter: number }
  /** Of all the rest. Nothing else vouches for it, and one bit of a name would make a registry unknown. */
  readonly digest: string
}

export const indexDigest = ({ digest: _, ...rest }: Readonly<Record<string, unknown>>): string =>
  digestOf(canonicalJson(rest))

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
const isText = (value: unknown): value is string => typeof value === 'string'
const isTime = (value: unknown): value is Time =>
  isText(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
export const isDigest = (value: unknown): value is string => isText(value) && /^[0-9a-f]{64}$/.test(value)
const isOptional = (value: unknown, is: (value: unknown) => boolean): boolean => value === undefined || is(value)

/** The name of a folder of publications; whatever else stands there must not become a path. */
const isPublication = (value: unknown): value is string => isText(value) && /^\d+-[0-9a-f]{64}$/.test(value)

const isHistoryItem = (value: unknown): value is HistoryItem =>
  isMap(value) &&
  isCount(value.sequence) &&
  isText(value.action) &&
  isTime(value.at) &&
  isPublication(value.publication) &&
  isDigest(value.document) &&
  isDigest(value.state) &&
  isCount(value.servers)

const isSourceUse = (value: unknown): value is SourceUse =>
  isMap(value) && isTime(value.observedAt) && isDigest(value.hash)

/** All of it that decides is written twice, and nothing else vouches for it: a time that a bit made late would last. */
const isNewest = (item: unknown, pointer: Readonly<Record<string, unknown>>): boolean =>
  isHistoryItem(item) &&
  (['sequence', 'publication', 'document', 'state', 'at'] as const).every((field) => item[field] === pointer[field])

export const isPointer = (value: unknown): value is Pointer =>
  isMap(value) &&
  isCount(value.sequence) &&
  isPublication(value.publication) &&
  isDigest(value.document) &&
  isDigest(value.state) &&
  isDigest(value.input) &&
  isTime(value.at) &&
  isOptional(value.nextDeadline, isTime) &&
  isMap(value.sources) &&
  Object.values(value.sources).every(isSourceUse) &&
  Array.isArray(value.history) &&
  value.history.every(isHistoryItem) &&
  isNewest(value.history.at(-1), value) &&
  isOptional(value.heldInput, isDigest) &&
  isOptional(value.approvedLosses, (losses) => Array.isArray(losses) && losses.every(isText))

const isChunkRef = (value: unknown): value is ChunkRef =>
  isMap(value) && isDigest(value.digest) && isCount(value.entries) && isCount(value.bytes)

export const isManifest = (value: unknown): value is Manifest => {
  if (!isMap(value) || !isDigest(value.document) || !isDigest(value.columns) || !isMap(value.runs)) return false
  const { runs } = value
  return RUNS.every((run) => {
    const chunks = runs[run]
    return Array.isArray(chunks) && chunks.every(isChunkRef)
  })
}

export const isIndex = (value: unknown): value is Index =>
  isMap(value) &&
  Array.isArray(value.registries) &&
  value.registries.every((each) => isMap(each) && isText(each.name)) &&
  isMap(value.auth) &&
  isText(value.auth.mode) &&
  isDigest(value.configuration) &&
  isTime(value.at) &&
  isMap(value.serve) &&
  isCount(value.serve.maxAge) &&
  isCount(value.serve.staleAfter) &&
  value.digest === indexDigest(value)
