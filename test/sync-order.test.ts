import { describe, expect, test } from 'vitest'
import { openMemoryStore } from '../adapters/store/memory.ts'
import type { BlobStore } from '../core/ports.ts'
import { approveLosses, rollBack } from '../functions/publication/change-pointer.ts'
import { actionsOf, at, codesOf, DAY, HOUR, openPublishing, server, servers, unexported } from './publishing.ts'

// What must not happen between two syncs that overlap, or between one that fails and the next.

const A = server('a')
const B = server('b')
const B_OUT = server('b', { annotations: { 'registry-export': 'false' } })
const begin = (config?: string, store: BlobStore = openMemoryStore()) => openPublishing(store, config)

/** A store that stops before the first write of a key, until it is let go. */
const gate = (store: BlobStore, isThere: (key: string) => boolean) => {
  let arrive = (): void => {}
  let release = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let isOpen = false
  const gated: BlobStore = {
    ...store,
    write: async (key, bytes, expected) => {
      if (!isOpen && isThere(key)) {
        isOpen = true
        arrive()
        await released
      }
      return store.write(key, bytes, expected)
    },
  }
  return { gated, arrived, release: () => release() }
}

const isPointer = (key: string): boolean => key === 'default/current.json'

describe('two looks at one source', () => {
  test('an opt-out that was seen later is not undone by an older good read', async () => {
    const p = begin()
    await p.sync(0, [...servers(10), B])
    const slow = begin('', p.store)
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const older = slow.runSync(() => at(60), [...servers(10), B], {}, held)
    const refused = await p.runSync(() => at(60) + 20_000, [B_OUT])
    expect(refused.isComplete).toBe(false)
    release()
    await older
    expect(await p.names()).not.toContain('team.b')
  })

  test('an older bad read takes nothing from a newer good one', async () => {
    const p = begin()
    await p.sync(0, [...servers(10), B])
    await p.runSync(() => at(60) + 20_000, [...servers(10), B])
    const late = await p.runSync(() => at(60), [B_OUT])
    expect([late.isComplete, (await p.names()).length]).toEqual([true, 11])
  })

  test('a process that was frozen for a quarter of an hour does not publish what it saw before', async () => {
    const p = begin()
    await p.sync(0, [A, B])
    let now = at(61)
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const frozen = p.runSync(() => now, [A, B, server('c')], {}, held)
    await p.runSync(() => at(74), [A])
    now = at(76)
    release()
    await frozen
    expect(await p.names()).toEqual(['team.a'])
  })

  test('a newer look that changes nothing is not overtaken by an older one that does', async () => {
    const p = begin()
    await p.sync(0, [A, B_OUT])
    const { gated, arrived, release } = gate(p.store, isPointer)
    const older = begin('', gated).runSync(() => at(61), [A, B])
    await arrived
    const newer = await p.runSync(() => at(61) + 20_000, [A, B_OUT])
    expect(actionsOf(newer)).toEqual(['keep'])
    release()
    await older
    expect(await p.names()).toEqual(['team.a'])
  })

  test('a clock that was set back by an hour hides nothing, also when two run at once', async () => {
    const p = begin()
    await p.sync(60, [A])
    await Promise.all([p.runSync(() => at(0), [A, B]), p.runSync(() => at(0) + 5, [A, B])])
    expect(await p.names()).toEqual(['team.a', 'team.b'])
  })

  test('two syncs at the same millisecond: the second one counts', async () => {
    const p = begin()
    await p.sync(0, [A])
    await p.sync(0, [A, B])
    expect(await p.names()).toEqual(['team.a', 'team.b'])
  })
})

describe('what is not seen is not gone', () => {
  test('a refused read removes nobody from the last good result whom it did not see', async () => {
    const p = begin()
    await p.sync(0, servers(10))
    const { gated, arrived, release } = gate(p.store, isPointer)
    const first = begin('', gated).runSync(() => at(1), [...servers(10), server('new')])
    await arrived
    await p.runSync(() => at(2), [])
    release()
    await first
    await p.sync(3, { fails: 'away' })
    expect(await p.names()).toContain('team.new')
  })

  test('resources that cannot be parsed any more are lost, not withdrawn', async () => {
    const p = begin()
    await p.sync(0, servers(10))
    const broken = servers(10).map((each) => ({ ...each, spec: 'not a map' }))
    const refused = await p.sync(1, broken)
    expect([refused.isComplete, codesOf(refused).includes('ShrinkRefused'), (await p.names()).length]).toEqual([
      false,
      true,
      10,
    ])
  })

  test('one page of a longer list, and the error of an API server, fail the source', async () => {
    for (const value of [
      { apiVersion: 'v1', kind: 'List', metadata: { continue: 'abc' }, items: [A] },
      { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: 403 },
    ]) {
      const p = begin()
      await p.sync(0, [A, B])
      const failed = await p.sync(1, [value])
      expect([failed.isComplete, await p.names()]).toEqual([false, ['team.a', 'team.b']])
    }
  })

  test('a source whose state is lost is not empty when it fails', async () => {
    const p = begin('sources: [{ name: eu, kubernetes: {} }, { name: us, kubernetes: {} }]')
    const us = servers(2, 'u', { namespace: 'us' })
    await p.sync(0, { eu: servers(10), us })
    await p.store.delete('sources/eu/state.json')
    expect((await p.sync(1, { eu: { fails: 'away' }, us })).isComplete).toBe(false)
    expect(await p.names()).toHaveLength(12)
  })

  test('a source whose state and result are lost leaves its registry as it is, and fails it alone', async () => {
    const p = begin(
      'sources: [{ name: eu, kubernetes: {} }, { name: us, kubernetes: {} }]\nregistries: [{ name: both, sources: [eu, us] }, { name: own, sources: [us] }]',
    )
    const us = servers(2, 'u', { namespace: 'us' })
    await p.sync(0, { eu: servers(3), us })
    for (const key of await p.store.list('sources/eu')) await p.store.delete(key)
    const after = await p.sync(1, { eu: { fails: 'away' }, us: [...us, server('more', { namespace: 'us' })] })
    expect([after.isComplete, actionsOf(after)]).toEqual([false, ['failed', 'write']])
    expect([(await p.names('both')).length, (await p.names('own')).length]).toEqual([5, 3])
  })

  test('a resource that lost its annotation is withdrawn though another kind may not be read', async () => {
    const p = begin()
    await p.sync(0, [A, B])
    await p.sync(1, { objects: [A, unexported('b')], unlisted: { MCPRemoteProxy: 'denied' } })
    expect(await p.names()).toEqual(['team.a'])
  })

  test('a resource without an annotation of its own stays while routes may not be read', async () => {
    const p = begin()
    await p.sync(0, [A, B])
    await p.sync(1, { objects: [A, unexported('b')], unlisted: { HTTPRoute: 'denied' } })
    expect(await p.names()).toEqual(['team.a', 'team.b'])
  })
})

describe('configuration', () => {
  test('a namespace that is left out goes, also while the cluster cannot be read', async () => {
    const p = begin()
    await p.sync(0, [...servers(8, 'x', { namespace: 'out' }), A])
    p.configure('sources: [{ name: cluster, kubernetes: { namespaces: [team] } }]')
    await p.sync(1, { fails: 'away' })
    expect(await p.names()).toEqual(['team.a'])
  })

  test('a source that was taken out and comes back does not bring back what it gave before', async () => {
    const both = 'sources: [{ name: eu, kubernetes: {} }, { name: us, kubernetes: {} }]'
    const p = begin(both)
    await p.sync(0, { eu: [server('old')], us: [A] })
    p.configure('sources: [{ name: us, kubernetes: {} }]')
    await p.sync(1, { us: [A] })
    p.configure(both)
    await p.sync(20 * DAY, { eu: { fails: 'away' }, us: [A] })
    expect(await p.names()).toEqual(['team.a'])
  })

  test('a slow sync with an older configuration does not open what was closed since', async () => {
    const open =
      'sources: [{ name: c, kubernetes: {} }]\nregistries: [{ name: a, sources: [c] }, { name: b, sources: [c] }]'
    const closed = open.replace('{ name: b, sources: [c] }', '{ name: b, sources: [c], claims: { team: x } }')
    const p = begin(open)
    await p.sync(0, [A])
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = p.runSync(() => at(1), [A], {}, held)
    await begin(closed, p.store).runSync(() => at(2), [A])
    release()
    await expect(slow).rejects.toThrow('another configuration')
    expect((await p.request('/registry/b/v0.1/servers')).status).toBe(404)
  })
})

describe('approval', () => {
  test('ends when its source is read again, though nothing else changes', async () => {
    const p = begin()
    await p.sync(0, servers(10))
    await p.sync(1, [])
    await approveLosses(p.store, 'default', at(2), 20)
    expect(actionsOf(await p.sync(3, servers(10)))).toEqual(['note'])
    expect((await p.pointer())?.approvedLosses).toBeUndefined()
    expect((await p.sync(60 * DAY, [])).isComplete).toBe(false)
    expect(await p.names()).toHaveLength(10)
  })

  test('survives a sync that could not ask, and one that asked another source', async () => {
    const p = begin('sources: [{ name: eu, kubernetes: {} }, { name: us, kubernetes: {} }]')
    const us = servers(2, 'u', { namespace: 'us' })
    await p.sync(0, { eu: servers(10), us })
    await p.sync(1, { eu: [], us })
    await p.sync(2, { eu: [], us }, { only: 'us' })
    expect((await approveLosses(p.store, 'default', at(3), 20)).kind).toBe('changed')
    await p.sync(4, { eu: { fails: 'away' }, us: [...us, server('more', { namespace: 'us' })] })
    expect((await p.pointer())?.approvedLosses).toHaveLength(10)
    expect((await p.sync(5, { eu: [], us })).isComplete).toBe(true)
  })

  test('of a kind that is not installed any more covers its resources', async () => {
    const p = begin()
    await p.sync(0, servers(10))
    const gone = { objects: [], unlisted: { MCPServer: 'notInstalled' } } as const
    await p.sync(1, gone)
    await approveLosses(p.store, 'default', at(2), 20)
    expect([(await p.sync(3, gone)).isComplete, await p.names()]).toEqual([true, []])
  })

  test('a rollback that holds keeps holding when an approval ends', async () => {
    const p = begin()
    const titled = servers(10, 's', { annotations: { 'registry-title': 'New' } })
    await p.sync(0, servers(10))
    await p.sync(1, titled)
    await rollBack(p.store, 'default', 1, at(2), 20)
    await p.sync(3, [])
    await approveLosses(p.store, 'default', at(4), 20)
    await p.sync(5, titled)
    const pointer = await p.pointer()
    expect([pointer?.approvedLosses, pointer?.heldInput !== undefined]).toEqual([undefined, true])
    expect(pointer?.publication).toMatch(/^1-/)
  })
})

describe('rollback', () => {
  test('does not hold what its grace has ended', async () => {
    const p = begin('discovery: { requireReady: true }')
    const starting = { ...A, status: { phase: 'Starting' } }
    await p.sync(0, [A])
    await p.sync(1, [A, B])
    await p.sync(2, [starting, B])
    await p.sync(3, [starting, server('b', { annotations: { 'registry-title': 'New' } })])
    const latest = [starting, server('b', { annotations: { 'registry-title': 'New' } })]
    expect((await rollBack(p.store, 'default', 2, at(4), 20)).kind).toBe('changed')
    expect(actionsOf(await p.sync(5, latest))).toEqual(['keep'])
    await p.sync(60, latest)
    expect(await p.names()).toEqual(['team.b'])
  })

  test('holds also after a sync that died before it could report', async () => {
    const p = begin()
    await p.sync(0, [A])
    const changed = [server('a', { annotations: { 'registry-title': 'New' } })]
    const store: BlobStore = {
      ...p.store,
      write: async (key, bytes, expected) => {
        if (key.endsWith('report.json')) throw new Error('killed')
        return p.store.write(key, bytes, expected)
      },
    }
    await expect(begin('', store).runSync(() => at(1), changed)).rejects.toThrow('killed')
    await rollBack(p.store, 'default', 1, at(2), 20)
    expect(actionsOf(await p.sync(3, changed))).toEqual(['keep'])
  })

  test('does not give a name back to who had it before', async () => {
    const p = begin('publish: { tombstones: 1h }')
    await p.sync(0, [server('x')])
    await p.sync(1, [])
    await p.sync(2 * HOUR, [server('x', { kind: 'VirtualMCPServer' })])
    expect(await p.names()).toEqual(['team.x'])
    expect(await rollBack(p.store, 'default', 1, at(3 * HOUR), 20)).toMatchObject({ kind: 'refused' })
  })
})

describe('what the store has lost', () => {
  test.each([
    ['the manifest', (key: string) => key.endsWith('manifest.json')],
    ['the columns', (key: string) => key.endsWith('columns')],
    ['a chunk', (key: string) => key.startsWith('default/chunks/')],
    ['a page of the last result', (key: string) => /^sources\/cluster\/[0-9a-f]{64}$/.test(key)],
  ])('%s is stored again by the next sync', async (_, isIt) => {
    const p = begin()
    await p.sync(0, [A, B])
    const keys = [...(await p.store.list('default')), ...(await p.store.list('sources'))]
    for (const key of keys.filter(isIt)) await p.store.delete(key)
    const mended = await p.sync(30, [A, B])
    expect([mended.isComplete, actionsOf(mended)]).toEqual([true, ['keep']])
    expect([...(await p.store.list('default')), ...(await p.store.list('sources'))]).toEqual(
      expect.arrayContaining(keys),
    )
    expect(await p.names()).toEqual(['team.a', 'team.b'])
  })

  test('an index, a retention record or a state of a source that is damaged is made anew', async () => {
    const p = begin()
    await p.sync(0, [A])
    const garbage = new TextEncoder().encode('<html>error</html>')
    for (const key of ['index.json', 'retention.json', 'sources/cluster/state.json'])
      await p.store.write(key, garbage, 'any')
    expect((await p.sync(30, [A, B])).isComplete).toBe(true)
    expect(await p.names()).toEqual(['team.a', 'team.b'])
  })

  test('a registry whose memory is lost is left as it is, and the others go on', async () => {
    const p = begin(
      'sources: [{ name: c, kubernetes: {} }]\nregistries: [{ name: one, sources: [c] }, { name: two, sources: [c] }]',
    )
    await p.sync(0, [A])
    for (const key of await p.store.list('one/states')) await p.store.delete(key)
    const after = await p.sync(1, [A, B])
    expect([after.isComplete, actionsOf(after)]).toEqual([false, ['failed', 'write']])
    expect([await p.names('one'), await p.names('two')]).toEqual([['team.a'], ['team.a', 'team.b']])
    expect(after.registries[0]?.report.problem).toContain('one/states/')
  })

  test('what is named again is not swept away', async () => {
    const p = begin('publish: { keep: 1 }')
    await p.sync(0, [A])
    await p.sync(1, [A, B])
    // The result and the chunk of the first are nobody's two days later, and are wanted again while they are swept.
    await p.sync(2 * DAY, [A, B, server('c')])
    let isNamed = false
    const racing: BlobStore = {
      ...p.store,
      delete: async (key) => {
        if (!isNamed) {
          isNamed = true
          await begin('publish: { keep: 1 }', p.store).runSync(() => at(2 * DAY + 2 * HOUR) + 1, [A])
        }
        return p.store.delete(key)
      },
    }
    await begin('publish: { keep: 1 }', racing).runSync(() => at(2 * DAY + 2 * HOUR), [A, B, server('c')])
    expect([isNamed, await p.names()]).toEqual([true, ['team.a']])
    await p.sync(2 * DAY + 3 * HOUR, [A])
    expect(await p.names()).toEqual(['team.a'])
    await p.sync(2 * DAY + 4 * HOUR, { fails: 'away' })
    expect(await p.names()).toEqual(['team.a'])
  })
})

describe('what was found out by looking harder', () => {
  test('a registry that lost its pointer is not taken for new', async () => {
    const p = begin()
    await p.sync(0, servers(10))
    await p.store.delete('default/current.json')
    const after = await p.sync(1, [])
    expect([after.isComplete, actionsOf(after)]).toEqual([false, ['failed']])
    expect(after.registries[0]?.report.problem).toContain('default/current.json')
    expect((await p.store.list('default/publications')).length).toBeGreaterThan(0)
  })

  test('what others keep below our prefix is not swept', async () => {
    const p = begin()
    await p.sync(0, [A])
    for (const key of ['default/README.md', 'default/default/current.json', 'sources/cluster/notes.txt'])
      await p.store.write(key, new TextEncoder().encode('mine'), 'any')
    for (const hour of [1, 3, 30]) await p.sync(hour * HOUR, [A, server(`x${hour}`)])
    expect(await p.store.list('default')).toEqual(
      expect.arrayContaining(['default/README.md', 'default/default/current.json']),
    )
    expect(await p.store.list('sources')).toContain('sources/cluster/notes.txt')
  })

  test.each([
    ['gives a source claims', 'sources: [{ name: c, kubernetes: {}, claims: { team: x } }]'],
    ['reads fewer namespaces', 'sources: [{ name: c, kubernetes: { namespaces: [other] } }]'],
    ['says less of the cluster', 'sources: [{ name: c, kubernetes: {} }]\ndiscovery: { requireReady: true }'],
  ])('a slow sync does not undo a configuration that %s', async (_, newer) => {
    const p = begin('sources: [{ name: c, kubernetes: {} }]')
    await p.sync(0, [A])
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = p.runSync(() => at(1), [A, B], {}, held)
    await begin(newer, p.store).runSync(() => at(2), [A])
    const before = await p.bytes('default/current.json')
    release()
    await expect(slow).rejects.toThrow('another configuration')
    expect(await p.bytes('default/current.json')).toBe(before)
  })

  test('a chunk that is lost is stored again by the very next sync, one that is truncated within the hour', async () => {
    const p = begin()
    await p.sync(0, [A, B])
    const [chunk = ''] = await p.store.list('default/chunks')
    await p.store.delete(chunk)
    expect((await p.sync(1, [A, B])).isComplete).toBe(true)
    expect(await p.names()).toEqual(['team.a', 'team.b'])
    const object = await p.store.read(chunk)
    if (object.kind === 'found') await p.store.write(chunk, object.bytes.slice(0, 10), 'any')
    for (const minute of [20, 40, 65]) await p.sync(minute, [A, B])
    expect(await p.names()).toEqual(['team.a', 'team.b'])
  })

  test('a sync that is not asked about a source leaves alone what another has just read of it', async () => {
    const p = begin('sources: [{ name: a, kubernetes: {} }, { name: b, kubernetes: {} }]')
    const { gated, arrived, release } = gate(p.store, isPointer)
    const first = begin('sources: [{ name: a, kubernetes: {} }, { name: b, kubernetes: {} }]', gated).runSync(
      () => at(1),
      { a: [A], b: [] },
      { only: 'a' },
    )
    await arrived
    await p.runSync(() => at(2), { a: [], b: [server('b', { namespace: 'b' })] }, { only: 'b' })
    release()
    await first
    expect(await p.names()).toEqual(['b.b', 'team.a'])
  })

  test('a clock that was a month ahead once does not lengthen a grace', async () => {
    const p = begin('discovery: { requireReady: true }')
    await p.sync(0, [A])
    await p.sync(30 * DAY, [A])
    const starting = { ...A, status: { phase: 'Starting' } }
    await p.sync(5, [starting])
    expect(await p.names()).toEqual(['team.a'])
    await p.sync(16, [starting])
    expect(await p.names()).toEqual([])
  })

  test('a second rollback holds as the first one did', async () => {
    const p = begin('publish: { kubernetesMetadata: minimal }')
    const titled = (title: string, created?: string) =>
      server('a', { annotations: { 'registry-title': title }, ...(created && { created }) })
    await p.sync(0, [titled('One')])
    await p.sync(1, [titled('Two')])
    await p.sync(2, [titled('Three')])
    const now = [titled('Three', '2024-01-01T00:00:00Z')]
    expect(actionsOf(await p.sync(3, now))).toEqual(['keep'])
    await rollBack(p.store, 'default', 2, at(4), 20)
    await rollBack(p.store, 'default', 1, at(5), 20)
    expect(actionsOf(await p.sync(6, now))).toEqual(['keep'])
    expect((await p.pointer())?.publication).toMatch(/^1-/)
  })

  test('text that is no manifest at all does not empty a small registry', async () => {
    const p = begin()
    await p.sync(0, [A])
    const after = await p.sync(1, [{ message: 'Unauthorized' }])
    expect([after.isComplete, await p.names()]).toEqual([false, ['team.a']])
  })

  test('a registry that leaves the configuration is named', async () => {
    const p = begin(
      'sources: [{ name: c, kubernetes: {} }]\nregistries: [{ name: one, sources: [c] }, { name: two, sources: [c] }]',
    )
    await p.sync(0, [A])
    p.configure('sources: [{ name: c, kubernetes: {} }]\nregistries: [{ name: one, sources: [c] }]')
    expect((await p.sync(1, [A])).dropped).toEqual(['two'])
  })
})

test('a registry that was never published and cannot be made says so, and one that was keeps its numbers', async () => {
  const p = begin()
  await p.sync(0, [A])
  p.configure('sources: [{ name: other, kubernetes: {} }]')
  const failed = await p.sync(1, { other: { fails: 'away' } })
  expect(failed.registries[0]?.report).toMatchObject({ action: 'none', sequence: 1, servers: 1 })
  expect(await p.names()).toEqual(['team.a'])
})
