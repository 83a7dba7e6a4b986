import type { Remote } from './entry.ts'
import type { ResourceRef } from './resource.ts'

/** What a caller must hold to see an entry: all keys, one of each key's values. */
export type Claims = Readonly<Record<string, string | readonly string[]>>

/** The way from a route to a URL: what grace, order and conflicts are decided by. */
export type RouteOrigin = {
  readonly route: string
  readonly gateway: string
  readonly owner: string
  readonly listener: string
  readonly scheme: 'https' | 'http'
  readonly host: string
  readonly port: number
  readonly path: string
  readonly hostSource: 'hostname' | 'address'
}

/** A remote and where it comes from: a route, or the resource itself. */
export type CandidateRemote = Remote & { readonly origin?: RouteOrigin }

/** A way that is closed by something that passes by itself: a URL of the resource's own, or through a route. */
export type PendingWay =
  | { readonly kind: 'direct'; readonly url: string }
  | {
      readonly kind: 'route'
      readonly route: string
      readonly owner: string
      /** Absent where the owner could not be read, so that nobody knows its listeners. */
      readonly at?: { readonly listener: string; readonly hostPattern: string }
      /** Absent while the controller has not judged the route as it is now: until then it serves what it served. */
      readonly paths?: readonly string[]
    }

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
  /** All of them, http beside https too: which are published is decided when grace is. */
  readonly remotes: readonly CandidateRemote[]
  readonly pending: readonly PendingWay[]
  readonly tier: string | undefined
  readonly tags: readonly string[] | undefined
  readonly tools: readonly string[] | undefined
  readonly toolDefinitions: readonly unknown[] | undefined
  readonly group: string | undefined
  readonly claims: Claims | undefined
}
