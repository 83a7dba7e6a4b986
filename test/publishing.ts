import { OperationError } from '../core/model/operation-error.ts'
import type { ObjectKind, Unlisted } from '../core/model/snapshot.ts'
import type { BlobStore } from '../core/ports.ts'
import { createApi } from '../functions/api/api.ts'
import { readSource } from '../functions/compile.ts'
import { type Config, parseConfig } from '../functions/config/config.ts'
import { readPointer } from '../functions/publication/pointer-object.ts'
import { createReader } from '../functions/publication/reader.ts'
import { type Synced, type SyncOptions, sync } from '../functions/sync.ts'
import { T0 } from './candidate.ts'
import { clockAt } from './clock.ts'

// A registry with its clusters, its store and its clock: what a sequence of syncs is told with.

export type Manifest = Readonly<Record<string, unknown>>

/** What a cluster shows at a sync: its objects, kinds that cannot be listed, or why it cannot be read. */
export type Cluster =
  | readonly Manifest[]
  | { readonly fails: string }
  | { readonly objects: readonly Manifest[]; readonly unlisted: Readonly<Record<string, Unlisted>> }

export const configOf = (text: string): Config => {
  const parsed = parseConfig(text)
  if (parsed.kind === 'bad') throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}

type ServerOptions = {
  readonly kind?: string
  readonly namespace?: string
  readonly created?: string
  readonly host?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** An exported server with a URL of its own. */
export const server = (name: string, options: ServerOptions = {}): Manifest => {
  const { kind = 'MCPServer', namespace = 'team', created = '2025-01-01T00:00:00Z', host = 'mcp.example.com' } = options
  const annotations: Record<string, string> = {
    'registry-export': 'true',
    'registry-url': `https://${host}/${kind}/${namespace}/${name}`.toLowerCase(),
    'registry-description': `Server ${name}`,
    ...options.annotations,
  }
  return {
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    kind,
    metadata: {
      name,
      namespace,
      creationTimestamp: created,
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [`toolhive.stacklok.dev/${key}`, value]),
      ),
    },
    spec: { transport: 'streamable-http' },
    status: { phase: 'Ready' },
  }
}

/** The same server without an opt-in. */
export const unexported = (name: string, options: ServerOptions = {}): Manifest =>
  server(name, { ...options, annotations: { ...options.annotations, 'registry-export': '' } })

export const servers = (count: number, prefix = 's', options: ServerOptions = {}): readonly Manifest[] =>
  Array.from({ length: count }, (_, index) => server(`${prefix}${String(index).padStart(2, '0')}`, options))

/** `minutes` after T0. */
export const at = (minutes: number): number => T0 + minutes * 60_000
export const HOUR = 60
export const DAY = 24 * HOUR

type Served = {
  readonly server: { readonly name: string; readonly version: string; readonly remotes?: { url: string }[] }
}

export const openPublishing = (store: BlobStore, configText = '') => {
  let config = configOf(configText)
  let clock = T0
  const now = (): number => clock

  const syncAt = (
    minutes: number,
    clusters: Cluster | Readonly<Record<string, Cluster>>,
    options: SyncOptions = {},
  ) => {
    clock = at(minutes)
    return runSync(now, clusters, options)
  }

  /** With a clock of its own, for syncs that run at the same time. */
  const runSync = (
    time: () => number,
    clusters: Cluster | Readonly<Record<string, Cluster>>,
    options: SyncOptions = {},
    began?: Promise<void>,
  ): Promise<Synced> => {
    const isOne = Array.isArray(clusters) || 'fails' in clusters || 'objects' in clusters
    const clusterOf = (name: string): Cluster | undefined =>
      isOne ? (clusters as Cluster) : (clusters as Readonly<Record<string, Cluster>>)[name]
    return sync(
      config,
      {
        store,
        now: time,
        readSource: async (source) => {
          await began
          const cluster = clusterOf(source.name)
          if (cluster === undefined) throw new Error(`the test says nothing of source ${source.name}`)
          if ('fails' in cluster) throw new OperationError('ClusterUnreachable', cluster.fails)
          const isWhole = !('objects' in cluster)
          const value = { apiVersion: 'v1', kind: 'List', items: isWhole ? cluster : cluster.objects }
          const documents = [{ kind: 'read', file: 'cluster', document: 1, value }] as const
          const { snapshot, findings } = readSource(source, { root: 'cluster', documents }, 'cluster')
          const unlisted = new Map(Object.entries(isWhole ? {} : cluster.unlisted) as readonly [ObjectKind, Unlisted][])
          return { snapshot: { ...snapshot, unlisted }, findings }
        },
      },
      options,
    )
  }

  const request = async (path: string) => createApi(createReader(store, clockAt(now))).request(path)
  const entries = async (registry = 'default'): Promise<readonly Served[]> => {
    const found: Served[] = []
    for (let cursor = ''; ; ) {
      const answer = await request(`/registry/${registry}/v0.1/servers?limit=100${cursor}`)
      const { servers, metadata } = JSON.parse(await answer.text())
      found.push(...servers)
      if (metadata.nextCursor === undefined) return found
      cursor = `&cursor=${metadata.nextCursor}`
    }
  }
  return {
    store,
    sync: syncAt,
    runSync,
    request,
    now,
    configure: (text: string): void => {
      config = configOf(text)
    },
    config: () => config,
    entries,
    /** The names that are served, without what they have in common. */
    names: async (registry?: string): Promise<readonly string[]> =>
      (await entries(registry)).map(({ server }) => server.name.replace('dev.stacklok.toolhive/', '')),
    urls: async (): Promise<readonly string[]> =>
      (await entries()).flatMap(({ server }) => (server.remotes ?? []).map(({ url }) => url)),
    pointer: async (registry = 'default') => (await readPointer(store, registry))?.value,
    bytes: async (key: string): Promise<string> => {
      const object = await store.read(key)
      return object.kind === 'found' ? new TextDecoder().decode(object.bytes) : ''
    },
  }
}

export type Publishing = ReturnType<typeof openPublishing>

export const actionsOf = ({ registries }: Synced): readonly string[] => registries.map(({ report }) => report.action)
export const codesOf = ({ compilation }: Synced): readonly string[] => [
  ...new Set(compilation.findings.map(({ code }) => code)),
]
