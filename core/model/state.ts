import type { CandidateRemote } from './candidate.ts'
import type { EntryStatus } from './entry.ts'
import { isMap } from './is-map.ts'
import type { ResourceRef } from './resource.ts'

/** A remote that was healthy once. `pendingSince` is when its way was first seen closed. */
export type RemoteState = CandidateRemote & { readonly pendingSince?: number }

/** What is remembered of one server version, listed or withdrawn. Times are milliseconds since 1970. */
export type EntryState = {
  readonly name: string
  readonly version: string
  readonly owner: ResourceRef
  /** The name that `discovery.naming` gave the owner: with another one, it asks for a name anew. */
  readonly wantedName: string
  readonly status: EntryStatus
  readonly isLatest: boolean
  /** Digest of the server.json; empty for a tombstone, which remembers nothing of it. */
  readonly content: string
  /** All remotes, also those that others outshine; none for a tombstone. */
  readonly remotes: readonly RemoteState[]
  readonly publishedAt: number
  readonly updatedAt: number
  readonly statusChangedAt: number
}

/** The memory of a registry between two syncs. `at` is when it last changed. */
export type RegistryState = { readonly at: number; readonly entries: readonly EntryState[] }

/** A tombstone holds its name and its times until it is over, not until somebody looks. */
export const isLiving = ({ status, statusChangedAt }: EntryState, tombstones: number, at: number): boolean =>
  status === 'active' || statusChangedAt + tombstones > at

/** Is this an entry as we wrote it? Its digest was checked before; a later version may have written other fields. */
export const isEntryState = (value: unknown): value is EntryState =>
  isMap(value) &&
  typeof value.name === 'string' &&
  typeof value.version === 'string' &&
  typeof value.wantedName === 'string' &&
  typeof value.content === 'string' &&
  typeof value.isLatest === 'boolean' &&
  (value.status === 'active' || value.status === 'deleted') &&
  isMap(value.owner) &&
  Array.isArray(value.remotes) &&
  [value.publishedAt, value.updatedAt, value.statusChangedAt].every((time) => typeof time === 'number')
