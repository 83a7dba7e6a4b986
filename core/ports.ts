import type { Bytes } from './model/bytes.ts'
import type { Manifests } from './model/manifests.ts'
import type { Scope, SnapshotReading } from './model/snapshot.ts'

/** Reads all documents under a path. A path that cannot be read throws: a partial read is no read. */
export type ReadManifests = (path: string) => Promise<Manifests>

/** Which version of an object was read; only the store that gave it knows what it means. */
export type Etag = string

export type StoredObject = { readonly kind: 'found'; readonly bytes: Bytes; readonly etag: Etag }

/**
 * Objects by key, below one prefix. A key is segments of letters, digits, `.`, `_` and `-`, joined by `/`; none is `.` or
 * `..`. Failures throw an OperationError; these are the answers.
 */
export interface BlobStore {
  /** With `known`, the etag of what the caller has, an object that is still that one is not sent again. */
  read(key: string, known?: Etag): Promise<StoredObject | { readonly kind: 'absent' } | { readonly kind: 'unchanged' }>
  /** `expected` is required, so that nobody can forget the other writer. A lost race is an answer. */
  write(
    key: string,
    bytes: Bytes,
    expected: { readonly etag: Etag } | 'absent' | 'any',
  ): Promise<{ readonly kind: 'written'; readonly etag: Etag } | { readonly kind: 'conflict' }>
  /** All keys below a folder, to the last page, in no particular order. */
  list(folder: string): Promise<readonly string[]>
  /** Deleting what is not there is done already. */
  delete(key: string): Promise<void>
}

/** Which cluster: by default that of the current context of the default kubeconfig. */
export type ClusterAccess = { readonly kubeconfig?: string; readonly context?: string }

/** What a source asks of its cluster. */
export type ClusterQuestion = { readonly source: string; readonly scope: Scope; readonly gatewayApi: boolean }

/** What an owner is told about an object, as a Kubernetes Event on it. Two with the same `key` are the same one. */
export type ClusterEvent = {
  readonly key: string
  readonly object: {
    readonly apiVersion: string
    readonly kind: string
    readonly namespace: string
    readonly name: string
    readonly uid: string
  }
  readonly reason: string
  readonly message: string
}

/** What became of Events: the keys of those that need not be told again, and why not all of them. */
export type Telling = { readonly told: ReadonlySet<string>; readonly problem?: string }

export type LeaseOptions = {
  readonly name: string
  readonly namespace: string
  readonly duration: number
  readonly renewDeadline: number
  readonly retryPeriod: number
}

/** The right of one of several to publish. */
export type Leadership = {
  /** Ends by itself, also while nobody can be asked. */
  readonly isHeld: () => boolean
  /** Ends it, and gives the lease back, so that another need not wait for it to run out. */
  readonly release: () => Promise<void>
}

/** A copy of what a source reads, kept up to date. */
export type ClusterWatch = {
  /** As it is now; undefined while a part of it is not being watched. */
  readonly reading: () => Promise<SnapshotReading | undefined>
}

/** A rule of a Role in this namespace; without one, of a ClusterRole. */
export type RoleRule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly namespace?: string
}

/** How a cluster answers to one thing that a source needs of it. */
export type ClusterCheck = {
  /** What it is about: of one topic, all that is fine can be said in one line. */
  readonly topic: 'server' | 'kinds' | 'absent' | 'read' | 'watch' | 'lease' | 'events' | 'store'
  /** Of a right; `rule` is what gives it. */
  readonly verb?: string
  readonly what: string
  readonly isFine: boolean
  /** Would a sync fail without it? */
  readonly isNeeded: boolean
  /** Who needs it, where that is not every sync. */
  readonly note?: string
  readonly rule?: RoleRule
  readonly fix?: string
}

/** A cluster that can be reached. Failures throw an OperationError. */
export interface Cluster {
  readonly server: string
  readonly context: string
  /** All that is asked for, whole. */
  read(question: ClusterQuestion, signal?: AbortSignal): Promise<SnapshotReading>
  /** Until the signal ends. `onChange` is called when anything that is read has changed. */
  watch(
    question: ClusterQuestion,
    signal: AbortSignal,
    onChange: () => void,
    onProblem: (text: string) => void,
  ): ClusterWatch
  /** Tries to get and keep the lease until it is released; `onChange` when it was won or lost. */
  lead(options: LeaseOptions, onChange: (isHeld: boolean) => void, onProblem: (text: string) => void): Leadership
  /** Tells owners. What cannot be told is no failure. */
  tell(events: readonly ClusterEvent[]): Promise<Telling>
  /** What a source needs, one by one. */
  check(
    question: ClusterQuestion,
    others: { readonly lease?: LeaseOptions; readonly events: boolean },
  ): Promise<readonly ClusterCheck[]>
}
