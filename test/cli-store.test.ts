import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createManifestReader } from '../adapters/cluster/manifests.ts'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { BlobStore } from '../core/ports.ts'
import { run } from '../functions/cli/program.ts'
import type { World } from '../functions/cli/world.ts'
import { type Manifest, server, servers } from './publishing.ts'

// The commands around a store, as a person types them.

const T = (minute: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + minute * 60_000).toISOString()

const terminal = (store: BlobStore = openMemoryStore(), config = '') => {
  const served: Parameters<World['listen']>[] = []
  const waypost = async (command: string, objects: readonly Manifest[] = []) => {
    const output: string[] = []
    const errors: string[] = []
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    const code = await run(command.split(' '), {
      version: '1.2.3',
      environment: config === '' ? {} : { WAYPOST_CONFIG: config },
      now: () => Date.parse(T(1000)),
      wait: async () => {},
      print: (text) => void output.push(text),
      printError: (text) => void errors.push(text),
      readManifests: createManifestReader(Readable.from([input])),
      readFile: async () => ({ kind: 'absent' }),
      openCluster: () =>
        Promise.reject(new OperationError('KubeconfigMissing', 'There is no kubeconfig. Give --from.')),
      stopped: () => new AbortController().signal,
      openStore: async () => store,
      listen: async (...given) => {
        served.push(given)
        return { port: 8787, closed: Promise.resolve() }
      },
    })
    return { code, output: output.join(''), errors: errors.join('') }
  }
  return { waypost, served, store }
}

const syncAt = (minute: number, more = ''): string => `sync --from - --as cluster --at ${T(minute)}${more}`

describe('sync', () => {
  test('says what changed, and ends with 0', async () => {
    const { waypost } = terminal()
    const first = await waypost(syncAt(0), [server('a')])
    expect(first).toMatchObject({ code: 0, errors: '' })
    expect(first.output).toMatch(/^default:\n\+ dev\.stacklok\.toolhive\/team\.a {2}1\.0\.0 {2}https:/)
    expect(first.output).toContain('default: published (publication 1, 1 server)')
    const again = await waypost(syncAt(1), [server('a')])
    expect(again.output).toBe('default: unchanged (publication 1, 1 server)\n')
  })

  test('--json prints the reports and nothing else', async () => {
    const { waypost } = terminal()
    const { output } = await waypost(syncAt(0, ' --json'), [server('a')])
    const { complete, registries } = JSON.parse(output)
    expect([complete, registries.default.action, registries.default.servers]).toEqual([true, 'write', 1])
    expect(registries.default.cost.writes).toBeGreaterThan(5)
  })

  test('--dry-run shows what would change, and writes nothing', async () => {
    const { waypost, store } = terminal()
    await waypost(syncAt(0), [server('a')])
    const before = (await store.list('default')).toSorted()
    const dry = await waypost(syncAt(1, ' --dry-run'), [server('b')])
    expect(dry.output).toMatch(/\+ dev\.stacklok\.toolhive\/team\.b/)
    expect(dry.output).toMatch(/- dev\.stacklok\.toolhive\/team\.a/)
    expect(dry.output).toContain('dry run')
    expect((await store.list('default')).toSorted()).toEqual(before)
    expect((await waypost('history')).output.trim().split('\n')).toHaveLength(1)
  })

  test('a refused loss ends with 1, says how to go on, and approve lets it pass', async () => {
    const { waypost } = terminal()
    await waypost(syncAt(0), servers(10))
    const refused = await waypost(syncAt(1), [])
    expect([refused.code, refused.output]).toEqual([1, expect.stringContaining('waypost approve')])
    expect((await waypost('status')).output).toContain('refused: the loss of cluster/MCPServer/team/s00')
    const approved = await waypost('approve')
    expect([approved.code, approved.output]).toEqual([0, expect.stringContaining('cluster/MCPServer/team/s09')])
    expect((await waypost(syncAt(3), [])).code).toBe(0)
    expect(await waypost('approve')).toMatchObject({ code: 1, errors: expect.stringContaining('nothing to approve') })
  })

  test('an unreadable document fails the source, and nothing is published from it', async () => {
    const { waypost } = terminal()
    await waypost(syncAt(0), [server('a')])
    const { code, output } = await waypost(syncAt(1), [server('a'), 7 as unknown as Manifest])
    expect([code, output]).toEqual([1, expect.stringContaining('SourceStale')])
  })

  test.each([
    ['sync --from - --source clustr', 2, 'did you mean cluster?'],
    ['diff x', 2, 'history'],
    ['diff --json --markdown', 2, 'cannot be used with'],
    ['rollback', 2, 'missing required argument'],
    ['history', 1, 'waypost sync'],
    ['history --registry other', 2, 'there are default'],
    ['approve', 1, 'nothing to approve'],
  ])('%s ends with %i and says %s', async (command, code, said) => {
    const ended = await terminal().waypost(command)
    expect([ended.code, ended.output, ended.errors]).toEqual([code, '', expect.stringContaining(said)])
  })

  test('a cluster that cannot be had fails its source, and nothing is published', async () => {
    const ended = await terminal().waypost('sync')
    expect(ended.code).toBe(1)
    expect(ended.output).toContain('There is no kubeconfig. Give --from')
    expect(ended.output).toContain('nothing could be read, and nothing is changed')
  })

  test('a store that fails is one line and exit code 1', async () => {
    const broken: BlobStore = {
      ...openMemoryStore(),
      read: async () => {
        throw new OperationError('StoreAway', 'Cannot read s3://bucket: no answer. Check the network.')
      },
    }
    expect(await terminal(broken).waypost(syncAt(0), [server('a')])).toEqual({
      code: 1,
      output: '',
      errors: 'waypost: Cannot read s3://bucket: no answer. Check the network. (StoreAway)\n',
    })
  })
})

describe('history, diff and rollback', () => {
  const published = async () => {
    const opened = terminal()
    await opened.waypost(syncAt(0), [server('a'), server('b')])
    const changed = server('a', {
      annotations: { 'registry-description': 'Another `one`', 'registry-version': '1.1.0' },
    })
    await opened.waypost(syncAt(1), [changed, server('c'), server('b')])
    return opened
  }

  test('history lists the newest first', async () => {
    const { output } = await (await published()).waypost('history')
    expect(output.split('\n').map((line) => line.trim().split(/\s+/)[0])).toEqual(['2', '1', ''])
  })

  test('diff names what was added, removed and changed, field by field', async () => {
    const { output } = await (await published()).waypost('diff')
    expect(output).toContain('+ dev.stacklok.toolhive/team.c  1.0.0')
    expect(output).toContain('~ dev.stacklok.toolhive/team.a  1.1.0')
    expect(output).toContain('    description: Server a → Another `one`')
    expect(output).toContain('    version: 1.0.0 → 1.1.0')
    expect(output).not.toContain('team.b')
  })

  test('diff --json has the same as data, also the other way round', async () => {
    const { waypost } = await published()
    const { registry, added, removed, changed } = JSON.parse((await waypost('diff 2 1 --json')).output)
    expect([registry, added, removed[0].name]).toEqual(['default', [], 'dev.stacklok.toolhive/team.c'])
    expect(changed[0].fields).toContainEqual({ field: 'version', before: '1.1.0', after: '1.0.0' })
  })

  test('diff --markdown keeps the words of others inert', async () => {
    const { output } = await (await published()).waypost('diff --markdown')
    expect(output).toContain('### Registry default: 1 added, 0 removed, 1 changed')
    expect(output).toContain('`` description: Server a → Another `one` ``')
  })

  test('rollback serves the earlier document, and status says that it is held', async () => {
    const { waypost, store } = terminal()
    await waypost(syncAt(0), [server('a')])
    await waypost(syncAt(1), [server('a', { annotations: { 'registry-title': 'New' } })])
    const { code, output } = await waypost('rollback 1')
    expect([code, output]).toEqual([0, expect.stringContaining('publication 1 again (now 3)')])
    expect((await waypost('status')).output).toContain('held by a rollback')
    expect((await waypost('diff 1 3')).output).toBe('Nothing changed.\n')
    expect(await waypost('rollback 9')).toMatchObject({ code: 2, errors: expect.stringContaining('1 to 3') })
    expect((await store.list('default/publications')).length).toBeGreaterThan(0)
  })
})

describe('serve', () => {
  test('serves what was published', async () => {
    const { waypost, served } = terminal()
    await waypost(syncAt(0), [server('a')])
    const { code, output } = await waypost('serve')
    expect([code, output]).toEqual([0, expect.stringContaining('default: ')])
    const app = served[0]?.[0]
    expect(await (await app?.request('/v0.1/servers'))?.json()).toMatchObject({ metadata: { count: 1 } })
    expect((await app?.request('/readyz'))?.status).toBe(200)
  })

  test('an empty store is served as unavailable, and says what to do', async () => {
    const { waypost, served } = terminal()
    expect((await waypost('serve')).output).toContain('Run waypost sync')
    const answer = await served[0]?.[0].request('/v0.1/servers')
    expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([503, '5'])
    expect((await served[0]?.[0].request('/readyz'))?.status).toBe(503)
  })
})
