/** What the set-up hands to the tests, which run in other processes: only what can be sent there. */
export type ProvidedStore = {
  readonly name: string
  /** A store URL is base, `/`, a prefix, and query; of the R2 binding it is where its Worker listens. */
  readonly base: string
  readonly query: string
  readonly environment: Readonly<Record<string, string>>
}

export type StartedServer = { readonly stores: readonly ProvidedStore[]; readonly stop: () => Promise<void> }

declare module 'vitest' {
  export interface ProvidedContext {
    stores: readonly ProvidedStore[]
  }
}
