import type { Hono } from 'hono'
import type { BlobStore, Cluster, ClusterAccess, ReadManifests } from '../../core/ports.ts'

export type Listening = {
  readonly port: number
  /** Ends when the process is asked to. */
  readonly closed: Promise<void>
}

/** What the commands need of the world; the entry gives it. */
export type World = {
  readonly version: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly now: () => number
  /** Without keeping the process alive; the signal ends it early. */
  readonly wait: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  readonly print: (text: string) => void
  readonly printError: (text: string) => void
  readonly readManifests: ReadManifests
  /** The text of a file; `absent` is an answer, anything else that fails throws. */
  readonly readFile: (
    path: string,
  ) => Promise<{ readonly kind: 'found'; readonly text: string } | { readonly kind: 'absent' }>
  /** Opens the store that a URL names; the credentials are the platform's own. */
  readonly openStore: (url: string) => Promise<BlobStore>
  /** Opens a cluster by what a kubeconfig says. */
  readonly openCluster: (access: ClusterAccess) => Promise<Cluster>
  /** Ends when the process is asked to; until then it lives on, also while it only waits. */
  readonly stopped: () => AbortSignal
  /** Says how far a long piece of work is, where somebody watches. */
  readonly progress?: (text: string) => void
  readonly listen: (app: Hono, host: string, port: number) => Promise<Listening>
}

/** The caller asked for something that cannot be meant: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
