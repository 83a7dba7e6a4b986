import type { EntryStatus } from '../model/entry.ts'
import type { ResourceRef } from '../model/resource.ts'

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
  readonly urls: readonly string[]
  readonly publishedAt: number
  readonly updatedAt: number
  readonly statusChangedAt: number
}

/** The memory of a registry between two syncs. `at` is when it last changed. */
export type RegistryState = { readonly at: number; readonly entries: readonly EntryState[] }
