import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../adapters/cluster/connect.ts'
import type { KubeLimits } from '../../adapters/cluster/kube-api.ts'
import { openCluster } from '../../adapters/cluster/open-cluster.ts'
import { openStore } from '../../adapters/store/open-store.ts'
import { createApi } from '../../functions/api/api.ts'
import { run } from '../../functions/cli/program.ts'
import { createReader } from '../../functions/publication/reader.ts'
import { clockAt } from '../clock.ts'

export type Ran = { readonly code: number; readonly output: string; readonly errors: string }
export type Listed = {
  readonly server: {
    readonly name: string
    readonly description: string
    readonly remotes?: readonly { readonly url: string }[]
  }
  readonly _meta: Readonly<Record<string, { readonly status?: string }>>
}

export type Circumstances = {
  /** Less patience with the cluster. */
  readonly limits?: KubeLimits
  /** Beside, or instead of, what is there. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** How often `watch` looks for new kinds. */
  readonly recheckMs?: number
  /** Where the files of a pod's account lie. */
  readonly root?: string
  /** Shared with another command line. */
  readonly store?: string
}

/** The command line in this process, against a real cluster and a folder of its own. */
export const createWaypost = (kubeconfig: string, config = '', circumstances: Circumstances = {}) => {
  const { limits, recheckMs, root, store = `file:${mkdtempSync(join(tmpdir(), 'waypost-cluster-'))}` } = circumstances
  const environment = {
    WAYPOST_KUBECONFIG: kubeconfig,
    WAYPOST_CONFIG: config,
    WAYPOST_PUBLISH_STORE: store,
    ...circumstances.environment,
  }
  const start = (args: readonly string[], stopped: AbortSignal = new AbortController().signal) => {
    const said = { output: '', errors: '' }
    const exit = run(args, {
      version: '0.0.0',
      environment,
      now: Date.now,
      wait: (milliseconds, signal) => sleep(milliseconds, undefined, signal && { signal }).catch(() => {}),
      print: (text) => {
        said.output += text
      },
      printError: (text) => {
        said.errors += text
      },
      readManifests: () => Promise.reject(new Error('there are no manifests')),
      readFile: async () => ({ kind: 'absent' }),
      openCluster: async (access) => openCluster(connect(access, environment, root), limits, recheckMs),
      stopped: () => stopped,
      openStore: (url) => openStore(url, { environment }),
      listen: () => Promise.reject(new Error('nobody listens')),
    })
    return { said, exit }
  }
  return {
    store,
    environment,
    start,
    run: async (...args: readonly string[]): Promise<Ran> => {
      const { said, exit } = start(args)
      const code = await exit
      return { code, ...said }
    },
    /** What a process that starts now serves. */
    entries: async (query = ''): Promise<readonly Listed[]> => {
      const app = createApi(createReader(await openStore(store, { environment }), clockAt(Date.now)))
      const answer = await app.request(`/v0.1/servers?limit=100${query}`)
      if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
      const { servers }: { servers: readonly Listed[] } = JSON.parse(await answer.text())
      return servers
    },
  }
}
