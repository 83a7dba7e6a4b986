import { inject } from 'vitest'
import { openStore } from '../../adapters/store/open-store.ts'
import type { BlobStore } from '../../core/ports.ts'
import { openR2OverHttp } from './r2-over-http.ts'

export type StartedStore = {
  readonly name: string
  readonly open: (prefix: string) => Promise<BlobStore>
  /** For processes of their own: the URL below a prefix, and what must be in the environment. Not for the R2 binding. */
  readonly url?: (prefix: string) => string
  readonly environment: Readonly<Record<string, string>>
}

/** Every store on its real server, started once for the run. */
export const startedStores = (): readonly StartedStore[] =>
  inject('stores').map(({ name, base, query, environment }): StartedStore => {
    if (base.startsWith('http')) return { name, environment, open: async (prefix) => openR2OverHttp(base, prefix) }
    const url = (prefix: string): string => `${base}/${prefix}${query}`
    return { name, environment, url, open: (prefix) => openStore(url(prefix), { environment }) }
  })
