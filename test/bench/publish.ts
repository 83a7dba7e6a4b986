import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolderStore } from '../../adapters/store/folder.ts'
import type { McpResource, Snapshot } from '../../core/model/snapshot.ts'
import type { BlobStore } from '../../core/ports.ts'
import { createApi } from '../../functions/api/api.ts'
import { parseConfig } from '../../functions/config/config.ts'
import { createReader } from '../../functions/publication/reader.ts'
import { sync } from '../../functions/sync.ts'
import { clockAt } from '../clock.ts'

// What it costs to publish 100,000 entries, to change one of them, and to open them. A folder stands for the store, so
// the bytes are exact; the times are of this machine, and of one run.
const COUNT = 100_000
const BUDGET = 0.05

const parsed = parseConfig('')
if (parsed.kind === 'bad') throw new Error('the default configuration is valid')
const { config } = parsed

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`
const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`
const peak = (): string => mebibytes(process.resourceUsage().maxRSS * 1024)

if (process.argv[2] === 'open') {
  // A process of its own: what publishing left behind is not counted.
  const held = (): number => {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const api = createApi(createReader(openFolderStore(process.argv[3] ?? ''), clockAt(Date.now)))
  await api.request('/healthz')
  const idle = held()
  const began = performance.now()
  const answer = await api.request('/v0.1/servers/dev.stacklok.toolhive%2Fteam-7.server-7/versions/latest')
  const bytes = (await answer.arrayBuffer()).byteLength
  console.log(
    `open ${COUNT} entries: ${seconds(began)} to the first answer (${answer.status}, ${bytes} bytes), ${mebibytes(held() - idle)} held`,
  )
  for (let cursor = ''; ; ) {
    const page = await api.request(`/v0.1/servers?limit=100&version=latest${cursor}`)
    const { metadata } = JSON.parse(await page.text())
    if (metadata.nextCursor === undefined) break
    cursor = `&cursor=${metadata.nextCursor}`
  }
  await (await api.request('/v0.1/servers?search=tickets')).arrayBuffer()
  const most = held() - idle
  console.log(
    `a walk through all of them and a search: ${mebibytes(most)} held, budget 64: ${most <= 64 * 1024 * 1024 ? 'within' : 'OVER'}`,
  )
  process.exit(0)
}

/** Words that compress as prose does, the same in every run. */
const WORDS =
  'search read write list query update deploy review summarise index metrics tickets calendar mail branch pipeline customer invoice report schema cluster token policy image build alert'.split(
    ' ',
  )
const sentence = (seed: number): string => {
  let state = (seed + 1) * 2_654_435_761
  return Array.from({ length: 9 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return WORDS[state % WORDS.length]
  }).join(' ')
}

const resourceOf = (index: number, description: string): McpResource => ({
  kind: 'MCPServer',
  meta: {
    namespace: `team-${index % 200}`,
    name: `server-${index}`,
    uid: undefined,
    createdAt: 1_700_000_000_000 + index,
    terminating: false,
    labels: new Map(),
    annotations: new Map<string, unknown>([
      ['registry-export', 'true'],
      ['registry-url', `https://mcp-${index % 97}.example.com/servers/${index}`],
      ['registry-title', `Server ${index}`],
      ['registry-description', description],
      ['tools', '["search","read","write"]'],
    ]),
  },
  transport: 'streamable-http',
  proxyMode: undefined,
  image: undefined,
  remoteUrl: undefined,
  knowsItsPrefix: false,
  group: undefined,
  externalAuth: undefined,
  headerNames: [],
  privateAuthority: false,
  insecureAllowHttp: false,
  status: { phase: 'Ready', conditions: [] },
})

const snapshotOf = (changed: number): Snapshot => ({
  source: 'cluster',
  readAs: 'cluster',
  scope: { namespaces: [], labelSelector: [] },
  unlisted: new Map(),
  denials: [],
  unreadable: new Set(),
  resources: Array.from({ length: COUNT }, (_, index) =>
    resourceOf(index, index === changed ? 'Another description' : sentence(index)),
  ),
  groups: [],
  externalAuthConfigs: [],
  routes: [],
  gateways: [],
  gatewayClasses: [],
  listenerSets: [],
  referenceGrants: [],
  services: [],
  namespaces: [],
})

const storedBytes = async (store: BlobStore): Promise<number> => {
  let sum = 0
  for (const folder of ['default', 'sources']) {
    for (const key of await store.list(folder)) {
      const object = await store.read(key)
      sum += object.kind === 'found' ? object.bytes.length : 0
    }
  }
  return sum
}

const folder = mkdtempSync(join(tmpdir(), 'waypost-bench-'))
try {
  const store = openFolderStore(folder)
  const publish = async (title: string, changed: number) => {
    const snapshot = snapshotOf(changed)
    const began = performance.now()
    const synced = await sync(config, { store, now: Date.now, readSource: async () => ({ snapshot, findings: [] }) })
    const report = synced.registries[0]?.report
    console.log(
      `${title}: ${seconds(began)}, ${report?.action}, ${report?.cost.writes} writes, ${mebibytes(report?.cost.bytesWritten ?? 0)} written, ${peak()} at most`,
    )
    return report?.cost.bytesWritten ?? 0
  }
  await publish(`publish ${COUNT} entries`, -1)
  const stored = await storedBytes(store)
  const chunks = new Set(await store.list('default/chunks'))
  await publish('the same again', -1)
  const written = await publish('one entry changed', 50_000)
  const added = (await store.list('default/chunks')).filter((key) => !chunks.has(key)).length
  const share = written / stored
  console.log(
    `one entry of ${COUNT} changed: ${added} of ${chunks.size} chunks anew; ${mebibytes(written)} of ${mebibytes(stored)} stored, ${(share * 100).toFixed(2)} %, budget ${BUDGET * 100} %: ${share <= BUDGET ? 'within' : 'OVER'}`,
  )
  const opened = spawnSync(process.execPath, ['--expose-gc', import.meta.filename, 'open', folder], {
    encoding: 'utf8',
  })
  process.stdout.write(opened.stdout)
  process.stderr.write(opened.stderr)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
