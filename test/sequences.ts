import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { isDeleted, isLatest } from '../core/model/columns.ts'
import { isSourceState } from '../core/model/source-state.ts'
import type { BlobStore } from '../core/ports.ts'
import { approveLosses, rollBack } from '../functions/publication/change-pointer.ts'
import { createChunkCache } from '../functions/publication/chunk-cache.ts'
import { readJson } from '../functions/publication/objects.ts'
import { openPublication } from '../functions/publication/open-publication.ts'
import { readState } from '../functions/publication/state-object.ts'
import {
  actionsOf,
  at,
  codesOf,
  DAY,
  HOUR,
  type Manifest,
  openPublishing,
  type Publishing,
  server,
  servers,
  unexported,
} from './publishing.ts'

// The sequences of the publication through `sync` and the API, on any store. The fold's own tests are in fold.test.ts and
// route-grace.test.ts. 32 is in api-walk.test.ts; 24 needs ConfigMap sources, and comes with those.

const manifestsOf = (yaml: string): readonly Manifest[] => parseAllDocuments(yaml).map((document) => document.toJS())
const healthyYaml = readFileSync(new URL('scenarios/route-grace/before.yaml', import.meta.url), 'utf8')
const healthy = manifestsOf(healthyYaml)
const withoutCertificate = manifestsOf(readFileSync(new URL('scenarios/route-grace/in.yaml', import.meta.url), 'utf8'))
const lagging = manifestsOf(
  healthyYaml.replace(/(kind: HTTPRoute[\s\S]*type: Accepted, status: )'True'/, "$1'Unknown'"),
)
const lagsUnexported = manifestsOf(
  healthyYaml
    .replace(/(kind: HTTPRoute[\s\S]*type: Accepted, status: )'True'/, "$1'Unknown'")
    .replace(/toolhive\.stacklok\.dev\/registry-export: 'true'/, 'other: x'),
)
const HTTPS = 'https://r.example.com/mcp'

const A = server('a')
const B = server('b')

const entryTimes = async (publishing: Publishing) => {
  const pointer = await publishing.pointer()
  const { entries } = await readState(publishing.store, 'default', pointer?.state ?? '')
  return new Map(entries.map((entry) => [`${entry.name.split('.').at(-1)}@${entry.version}`, entry]))
}

/** What `include_deleted` will see: the tombstones of what is served. */
const tombstones = async ({ store, pointer }: Publishing): Promise<number> => {
  const { columns } = await openPublication(store, createChunkCache(), 'default', (await pointer())?.publication ?? '')
  return Array.from({ length: columns.count }, (_, row) => row).filter((row) => isDeleted(columns, row)).length
}

export const describeSequences = (name: string, open: () => Promise<BlobStore>): void => {
  const begin = async (config?: string): Promise<Publishing> => openPublishing(await open(), config)

  describe(`sequences on ${name}`, () => {
    test('1: the same input again keeps the pointer byte for byte, and reports', async () => {
      const p = await begin()
      expect(actionsOf(await p.sync(0, [A]))).toEqual(['write'])
      const before = await p.bytes('default/current.json')
      const report = await p.bytes('default/report.json')
      const stored = (await p.store.list('default/publications')).toSorted()
      expect(actionsOf(await p.sync(1, [A]))).toEqual(['keep'])
      expect(await p.bytes('default/current.json')).toBe(before)
      expect(await p.bytes('default/report.json')).not.toBe(report)
      expect((await p.store.list('default/publications')).toSorted()).toEqual(stored)
    })

    test('2: any order of objects gives the same document', async () => {
      const [p, q] = [await begin(), await begin()]
      await p.sync(0, [A, B])
      await q.sync(0, [B, A])
      expect((await p.pointer())?.document).toBe((await q.pointer())?.document)
      expect((await p.pointer())?.input).toBe((await q.pointer())?.input)
    })

    test('3: a changed description moves the times of its entry and of no other', async () => {
      const p = await begin()
      await p.sync(0, [A, B])
      const changed = server('a', { annotations: { 'registry-description': 'Another' } })
      expect(actionsOf(await p.sync(60, [changed, B]))).toEqual(['write'])
      const times = await entryTimes(p)
      expect(times.get('a@1.0.0')).toMatchObject({ publishedAt: at(0), updatedAt: at(60) })
      expect(times.get('b@1.0.0')).toMatchObject({ publishedAt: at(0), updatedAt: at(0) })
    })

    test('4: what no longer asks to be listed is one tombstone without a URL', async () => {
      const p = await begin()
      await p.sync(0, [A])
      expect(actionsOf(await p.sync(1, [unexported('a')]))).toEqual(['write'])
      expect([await p.names(), await tombstones(p)]).toEqual([[], 1])
      const pointer = await p.pointer()
      const newest = await openPublication(p.store, createChunkCache(), 'default', pointer?.publication ?? '')
      const [slice] = newest.layout.chunks.map((chunk) => ({ chunk, from: 0, to: chunk.bytes }))
      const text = new TextDecoder().decode(slice && (await newest.read(slice)))
      expect(text).toContain('"description":"Removed"')
      expect(text).not.toContain('https://mcp')
    })

    test('5 and 9: an empty cluster does not empty the registry, until a person approves', async () => {
      const p = await begin()
      await p.sync(0, servers(10))
      const refused = await p.sync(1, [])
      expect([refused.isComplete, codesOf(refused)]).toEqual([
        false,
        expect.arrayContaining(['ShrinkRefused', 'SourceStale']),
      ])
      expect(await p.names()).toHaveLength(10)
      expect(refused.registries[0]?.report.sources[0]?.losses).toHaveLength(10)
      expect((await approveLosses(p.store, 'default', at(2), 20)).kind).toBe('changed')
      const approved = await p.sync(3, [])
      expect([approved.isComplete, await p.names()]).toEqual([true, []])
      expect((await p.pointer())?.approvedLosses).toBeUndefined()
    })

    test('6: four of ten may go, six may not, and with --force they may', async () => {
      const p = await begin()
      await p.sync(0, servers(10))
      expect((await p.sync(1, servers(6))).isComplete).toBe(true)
      expect(await p.names()).toHaveLength(6)
      const q = await begin()
      await q.sync(0, servers(10))
      expect((await q.sync(1, servers(4))).isComplete).toBe(false)
      expect(await q.names()).toHaveLength(10)
      expect((await q.sync(2, servers(4), { isForced: true })).isComplete).toBe(true)
      expect(await q.names()).toHaveLength(4)
    })

    test('7: what vanishes from one source is refused for it, and the others go on', async () => {
      const p = await begin('sources: [{ name: cluster, kubernetes: {} }, { name: catalog, kubernetes: {} }]')
      const catalog = servers(100, 'c', { namespace: 'catalog' })
      await p.sync(0, { cluster: servers(10), catalog })
      const more = [...catalog, server('more', { namespace: 'catalog' })]
      const refused = await p.sync(1, { cluster: [], catalog: more })
      expect([refused.isComplete, actionsOf(refused)]).toEqual([false, ['write']])
      expect(await p.names()).toHaveLength(111)
      const stale = refused.compilation.findings.filter(({ code }) => code === 'SourceStale')
      expect(stale.map(({ subject }) => subject.name)).toEqual(['cluster'])
    })

    test('8: what another configuration leaves out is not lost', async () => {
      const p = await begin()
      const objects = [...servers(8, 'x', { namespace: 'out' }), ...servers(2, 'y', { namespace: 'in' })]
      await p.sync(0, objects)
      p.configure('sources: [{ name: cluster, kubernetes: { namespaces: [in] } }]')
      const narrowed = await p.sync(1, objects.slice(8))
      expect([narrowed.isComplete, await p.names()]).toEqual([true, ['in.y00', 'in.y01']])
    })

    test('10: a tombstone lives for 30 days and then goes, though nothing else changes', async () => {
      const p = await begin()
      await p.sync(0, [A, B])
      await p.sync(1, [B])
      expect(actionsOf(await p.sync(29 * DAY, [B]))).toEqual(['keep'])
      expect(await tombstones(p)).toBe(1)
      expect((await p.pointer())?.nextDeadline).toBe(new Date(at(1 + 30 * DAY)).toISOString())
      expect(actionsOf(await p.sync(31 * DAY, [B]))).toEqual(['write'])
      expect([await tombstones(p), await p.names()]).toEqual([0, ['team.b']])
    })

    test('11: what comes back has its name and publishedAt, and new other times', async () => {
      const p = await begin()
      await p.sync(0, [A])
      await p.sync(1, [])
      await p.sync(61, [A])
      expect((await entryTimes(p)).get('a@1.0.0')).toMatchObject({
        publishedAt: at(0),
        updatedAt: at(61),
        statusChangedAt: at(61),
      })
    })

    test('12, 13 and 14: names stay with who has them, and come back while the tombstone lives', async () => {
      const p = await begin()
      const younger = server('a', { kind: 'VirtualMCPServer', created: '2025-06-01T00:00:00Z' })
      await p.sync(0, [younger, A])
      expect(await p.names()).toEqual(['team.a', 'team.a-virtualmcpserver'])
      await p.sync(1, [younger])
      expect(await p.names()).toEqual(['team.a-virtualmcpserver'])
      await p.sync(2, [younger, server('a', { created: '2025-09-01T00:00:00Z' })])
      expect(await p.names()).toEqual(['team.a', 'team.a-virtualmcpserver'])

      const q = await begin()
      await q.sync(0, [A])
      const earlier = server('a', { kind: 'VirtualMCPServer', created: '2020-01-01T00:00:00Z' })
      await q.sync(1, [A, earlier])
      expect(await q.names()).toEqual(['team.a', 'team.a-virtualmcpserver'])
      expect((await entryTimes(q)).get('a@1.0.0')?.owner.kind).toBe('MCPServer')
    })

    test('15: the same name in two clusters is listed twice, and a day without one of them changes nothing', async () => {
      const p = await begin('sources: [{ name: eu, kubernetes: {} }, { name: us, kubernetes: {} }]')
      const us = [server('a', { host: 'us.example.com' })]
      await p.sync(0, { eu: [A], us })
      expect(await p.names()).toEqual(['team.a', 'team.a-us'])
      const before = (await p.pointer())?.document
      for (const hour of [1, 12, 24]) {
        const synced = await p.sync(hour * HOUR, { eu: { fails: 'no route to host' }, us })
        expect([synced.isComplete, codesOf(synced)]).toEqual([false, expect.arrayContaining(['SourceStale'])])
      }
      expect((await p.pointer())?.document).toBe(before)
      await p.sync(25 * HOUR, { eu: [A], us })
      expect((await p.pointer())?.document).toBe(before)
    })

    test('16: a route that lags keeps its URL for ten minutes, then loses it though the input is the same', async () => {
      const p = await begin()
      await p.sync(0, healthy)
      const seen: unknown[] = []
      for (const minute of [1, 6, 12]) {
        const synced = await p.sync(minute, lagging)
        seen.push([actionsOf(synced)[0], (await p.urls())[0], codesOf(synced).includes('RouteNotAccepted')])
      }
      expect(seen).toEqual([
        ['note', HTTPS, true],
        ['keep', HTTPS, true],
        ['write', undefined, true],
      ])
    })

    test('a note changes neither what is served nor its ETag', async () => {
      const p = await begin()
      await p.sync(0, healthy)
      const before = await p.request('/v0.1/servers')
      expect(actionsOf(await p.sync(1, lagging))).toEqual(['note'])
      const after = await p.request('/v0.1/servers')
      expect(after.headers.get('etag')).toBe(before.headers.get('etag'))
      expect(await after.text()).toBe(await before.text())
      expect((await p.pointer())?.history.map(({ sequence, action }) => [sequence, action])).toEqual([
        [1, 'write'],
        [2, 'note'],
      ])
    })

    test('17: https stays for the grace when it lost its certificate, and http is not published meanwhile', async () => {
      const p = await begin()
      await p.sync(0, healthy)
      await p.sync(1, withoutCertificate)
      expect(await p.urls()).toEqual([HTTPS])
      await p.sync(12, withoutCertificate)
      expect(await p.urls()).toEqual(['http://r.example.com/mcp'])
    })

    test('18: what is pending goes at once when the annotation is removed', async () => {
      const p = await begin()
      await p.sync(0, healthy)
      await p.sync(1, lagging)
      await p.sync(2, lagsUnexported)
      expect(await p.urls()).toEqual([])
    })

    test('19: the grace does not run while the cluster cannot be read', async () => {
      const p = await begin()
      await p.sync(0, healthy)
      await p.sync(1, lagging)
      for (const minute of [2, 30, 61]) await p.sync(minute, { fails: 'connection refused' })
      expect(await p.urls()).toEqual([HTTPS])
      await p.sync(62, lagging)
      await p.sync(71, lagging)
      expect(await p.urls()).toEqual([HTTPS])
      await p.sync(73, lagging)
      expect(await p.urls()).toEqual([])
    })

    test('20: a slow sync does not bring back what a later look found removed', async () => {
      const p = await begin()
      await p.sync(0, [A, B])
      let release = (): void => {}
      const gate = new Promise<void>((resolve) => {
        release = resolve
      })
      const slow = p.runSync(() => at(60), [server('a', { annotations: { 'registry-title': 'Slow' } }), B], {}, gate)
      await p.runSync(() => at(60) + 20_000, [A])
      release()
      expect((await slow).isComplete).toBe(true)
      expect(await p.names()).toEqual(['team.a'])
      // Also when it only begins to publish after the other is done.
      await p.runSync(() => at(60) + 10_000, [A, B])
      expect(await p.names()).toEqual(['team.a'])
    })

    test('23: a source that fails three times is served as it was, with its age, and counted', async () => {
      const p = await begin()
      await p.sync(0, [A])
      const attempts: unknown[] = []
      for (const minute of [1, 2, 3]) {
        const { report } = (await p.sync(minute, { fails: 'timeout' })).registries[0] ?? {}
        attempts.push([report?.sources[0]?.attempts, report?.sources[0]?.observedAt, report?.sources[0]?.problem])
      }
      const observedAt = new Date(at(0)).toISOString()
      expect(attempts).toEqual([1, 2, 3].map((count) => [count, observedAt, 'timeout (ClusterUnreachable)']))
      expect(await p.names()).toEqual(['team.a'])
      const { isComplete } = await p.sync(4, [A])
      const state = await readJson(p.store, 'sources/cluster/state.json', isSourceState)
      expect([isComplete, state?.value.attempts]).toEqual([true, 0])
    })

    test('25: a rollback holds until the inputs change', async () => {
      const p = await begin()
      await p.sync(0, [A])
      await p.sync(1, [server('a', { annotations: { 'registry-title': 'New' } })])
      const changed = [server('a', { annotations: { 'registry-title': 'New' } })]
      expect((await rollBack(p.store, 'default', 1, at(2), 20)).kind).toBe('changed')
      const title = async (): Promise<unknown> => (await p.entries())[0]?.server
      expect(await title()).not.toHaveProperty('title')
      expect(actionsOf(await p.sync(3, changed))).toEqual(['keep'])
      expect(actionsOf(await p.sync(4, { fails: 'away' }))).toEqual(['keep'])
      expect(await title()).not.toHaveProperty('title')
      expect(actionsOf(await p.sync(5, [...changed, B]))).toEqual(['write'])
      expect(await title()).toHaveProperty('title', 'New')
      expect((await p.pointer())?.heldInput).toBeUndefined()
    })

    test('25: a rollback to a document with an entry that was withdrawn since is refused by name', async () => {
      const p = await begin()
      await p.sync(0, [A, B])
      await p.sync(1, [A])
      expect(await rollBack(p.store, 'default', 1, at(2), 20)).toMatchObject({
        kind: 'refused',
        reason: expect.stringContaining('dev.stacklok.toolhive/team.b 1.0.0'),
      })
      expect(await p.names()).toEqual(['team.a'])
    })

    test('26: a clock that is set back makes no time go back, and hides no change', async () => {
      const p = await begin()
      await p.sync(60, [A])
      await p.sync(0, [server('a', { annotations: { 'registry-title': 'New' } })])
      expect((await p.pointer())?.at).toBe(new Date(at(60) + 1).toISOString())
      expect((await entryTimes(p)).get('a@1.0.0')).toMatchObject({ publishedAt: at(60), updatedAt: at(60) + 1 })
    })

    test.each([
      ['27: a kind that is not installed any more', { MCPServer: 'notInstalled' } as const, 'MCPServer'],
      [
        '28: HTTPRoutes that may not be read any more',
        { HTTPRoute: 'denied' } as const,
        'httproutes.gateway.networking',
      ],
      ['an MCP kind that may not be read', { MCPRemoteProxy: 'denied' } as const, 'mcpremoteproxies.toolhive'],
    ])('%s fails the source, and its entries stay', async (_, unlisted, word) => {
      const p = await begin()
      await p.sync(0, [A])
      const failed = await p.sync(1, { objects: [], unlisted })
      expect([failed.isComplete, await p.names()]).toEqual([false, ['team.a']])
      const stale = failed.compilation.findings.find(({ code }) => code === 'SourceStale')
      expect(stale).toMatchObject({ problem: expect.stringContaining(word) })
    })

    test('27: that a kind is gone can be approved', async () => {
      const p = await begin()
      await p.sync(0, [A])
      const gone = { objects: [], unlisted: { MCPServer: 'notInstalled' } } as const
      await p.sync(1, gone)
      expect((await approveLosses(p.store, 'default', at(2), 20)).kind).toBe('changed')
      expect([(await p.sync(3, gone)).isComplete, await p.names()]).toEqual([true, []])
    })

    test('29: claims remove an entry at once', async () => {
      const p = await begin()
      await p.sync(0, [A])
      await p.sync(1, [server('a', { annotations: { 'authz-claims': '{"team":"x"}' } })])
      expect([await p.names(), await tombstones(p)]).toEqual([[], 1])
    })

    test('30: a new version is latest at once', async () => {
      const p = await begin()
      await p.sync(0, [A])
      await p.sync(1, [server('a', { annotations: { 'registry-version': '1.1.0' } })])
      const latest = await p.request('/v0.1/servers/dev.stacklok.toolhive%2Fteam.a/versions/latest')
      expect(await latest.json()).toMatchObject({ server: { version: '1.1.0' } })
      expect(await tombstones(p)).toBe(1)
      const { columns } = await openPublication(
        p.store,
        createChunkCache(),
        'default',
        (await p.pointer())?.publication ?? '',
      )
      expect([0, 1].map((row) => isLatest(columns, row))).toEqual([true, false])
    })

    test('34: the first sync of an empty cluster is a publication without entries', async () => {
      const p = await begin()
      expect((await p.request('/v0.1/servers')).status).toBe(503)
      expect(actionsOf(await p.sync(0, []))).toEqual(['write'])
      const answer = await p.request('/v0.1/servers')
      expect([answer.status, await answer.json()]).toEqual([200, { servers: [], metadata: { count: 0 } }])
    })

    test('opt-outs are honoured in a read that is refused, and do not come back when the next read fails', async () => {
      const p = await begin()
      await p.sync(0, [...servers(10), A])
      const refused = await p.sync(1, [unexported('a')])
      expect([refused.isComplete, (await p.names()).length]).toEqual([false, 10])
      await p.sync(2, { fails: 'gone' })
      expect(await p.names()).not.toContain('team.a')
    })

    test('without any result nothing is published, and the sync says so', async () => {
      const p = await begin()
      const failed = await p.sync(0, { fails: 'connection refused' })
      expect([failed.isComplete, actionsOf(failed), codesOf(failed)]).toEqual([false, ['none'], ['SourceFailed']])
      expect((await p.request('/v0.1/servers')).status).toBe(503)
      expect(await p.pointer()).toBeUndefined()
    })

    test('publications beyond keep are gone a day after they were superseded, and what they shared stays', async () => {
      const p = await begin('publish: { keep: 2 }')
      for (let index = 0; index < 6; index++)
        await p.sync(index, [B, server('a', { annotations: { 'registry-title': `Title ${index}` } })])
      expect((await p.pointer())?.history).toHaveLength(6)
      const last = server('a', { annotations: { 'registry-title': 'Last' } })
      for (const hour of [25, 27, 29]) await p.sync(hour * HOUR, [B, last])
      expect((await p.pointer())?.history.map(({ sequence }) => sequence)).toEqual([6, 7])
      const folders = new Set(
        (await p.store.list('default/publications')).map((key) => key.split('/')[2]?.split('-')[0]),
      )
      expect([...folders].toSorted()).toEqual(['6', '7'])
      expect(await p.names()).toEqual(['team.a', 'team.b'])
    })
  })
}
