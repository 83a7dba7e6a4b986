import { type Bytes, joinBytes } from '../model/bytes.ts'
import { canonicalJson } from '../model/canonical-json.ts'
import { encodeColumns, type Row } from '../model/columns.ts'
import { digestOf } from '../model/digest.ts'
import type { Entry, RegistryDocument } from '../model/entry.ts'
import { type ChunkRef, type Manifest, type Run, runOf } from '../model/publication.ts'
import { cut } from './cut.ts'

/** A document as the objects that are stored. Nothing in it knows when or by whom it is published. */
export type Assembled = {
  /** Digest of the manifest, which names all the rest. */
  readonly digest: string
  readonly manifest: Bytes
  readonly columns: Bytes
  readonly chunks: ReadonlyMap<string, Bytes>
}

type Piece = { readonly entry: Entry; readonly key: string; readonly encoded: Bytes; readonly bytes: number }

const COMMA = new TextEncoder().encode(',')
const SERVER = ',"server":'

/** Entries with a comma between them: any that are neighbours are one slice of a list. */
const join = (pieces: readonly Piece[]): Bytes =>
  joinBytes(pieces.flatMap(({ encoded }, index) => (index === 0 ? [encoded] : [COMMA, encoded])))

const rowOf = ({ entry, bytes }: Piece): Row => ({
  name: entry.name,
  version: entry.version,
  search: `${entry.server.title ?? ''}\n${entry.server.description}\n`.toLowerCase(),
  publishedAt: entry.publishedAt,
  updatedAt: entry.updatedAt,
  isLatest: entry.isLatest,
  isDeleted: entry.status === 'deleted',
  bytes,
  // What stands before it is ASCII, so a character is a byte.
  serverAt: entry.json.indexOf(SERVER) + SERVER.length,
})

/** Cuts a document into chunks, and says in columns and a manifest what is where. */
export const assemble = ({ entries, digest: document }: RegistryDocument): Assembled => {
  const encoder = new TextEncoder()
  const pieces = entries.map((entry): Piece => {
    const encoded = encoder.encode(entry.json)
    return { entry, key: `${entry.name} ${entry.version}`, encoded, bytes: encoded.length }
  })
  const chunks = new Map<string, Bytes>()
  const runs = Map.groupBy(pieces, ({ entry }) => runOf(entry))
  const refsOf = (run: Run): readonly ChunkRef[] =>
    cut(runs.get(run) ?? []).map((part) => {
      const bytes = join(part)
      const digest = digestOf(bytes)
      chunks.set(digest, bytes)
      return { digest, entries: part.length, bytes: bytes.length }
    })
  const columns = encodeColumns(pieces.map(rowOf))
  const manifest: Manifest = {
    document,
    runs: { latest: refsOf('latest'), older: refsOf('older'), deleted: refsOf('deleted') },
    columns: digestOf(columns),
  }
  const bytes = encoder.encode(canonicalJson(manifest))
  return { digest: digestOf(bytes), manifest: bytes, columns, chunks }
}
