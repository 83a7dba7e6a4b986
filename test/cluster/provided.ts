import type { Issued } from './certificates.ts'

/** What the set-up hands to the tests, which run in other processes: only what can be sent there. */
export type ProvidedCluster = {
  readonly server: string
  /** In PEM, and the file that has the same: what signed the server's own certificate. */
  readonly ca: string
  readonly caFile: string
  readonly adminToken: string
  readonly adminKubeconfig: string
  /** What signs client certificates that the server believes. */
  readonly authority: Issued
}

declare module 'vitest' {
  export interface ProvidedContext {
    cluster: ProvidedCluster
  }
}
