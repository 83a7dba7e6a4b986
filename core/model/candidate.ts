import type { Remote } from './entry.ts'
import type { ResourceRef } from './resource.ts'

/** What a caller must hold to see an entry: all keys, one of each key's values. */
export type Claims = Readonly<Record<string, string | readonly string[]>>

/** A resource that asked to be listed and has what listing needs. Its final name is the fold's to give. */
export type Candidate = {
  readonly ref: ResourceRef
  readonly createdAt: number | undefined
  readonly uid: string | undefined
  readonly image: string | undefined
  readonly wantedName: string
  readonly title: string | undefined
  readonly description: string
  readonly version: string
  readonly icon: string | undefined
  readonly remotes: readonly Remote[]
  readonly tier: string | undefined
  readonly tags: readonly string[] | undefined
  readonly tools: readonly string[] | undefined
  readonly toolDefinitions: readonly unknown[] | undefined
  readonly group: string | undefined
  readonly claims: Claims | undefined
}
