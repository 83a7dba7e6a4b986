import { describe, expect, test } from 'vitest'
import { type MemoryObjects, openMemoryStore } from '../adapters/store/memory.ts'
import { T0 } from './candidate.ts'
import { openPublishing, server } from './publishing.ts'

// A store in which one object has rotted away, and the syncs that go on with it.

const before = [server('a'), server('b')]
const after = [server('a'), server('b', { annotations: { 'registry-description': 'In other words' } }), server('c')]

const objects: MemoryObjects = new Map()
const first = openPublishing(openMemoryStore(objects))
await first.sync(0, [server('a')])
await first.sync(1, before)
const current = await first.pointer()

/** What nobody can make anew: the pointer, and what the registry remembers. All of its state is one root and one page. */
const isMemory = (key: string): boolean => /\/(current\.json|states\/.*)$/.test(key)

const DAMAGES = ['lost', 'truncated'] as const
const CASES = [...objects.keys()].sort().flatMap((key) => DAMAGES.map((damage) => ({ key, damage })))

const damaged = (key: string, damage: (typeof DAMAGES)[number]): MemoryObjects => {
  const rotten: MemoryObjects = new Map(objects)
  const object = rotten.get(key)
  rotten.delete(key)
  if (damage === 'truncated' && object !== undefined)
    rotten.set(key, { ...object, bytes: object.bytes.slice(0, object.bytes.length >> 1), etag: 'rotten' })
  return rotten
}

describe('a store with one damaged object', () => {
  test.for(CASES.filter(({ key }) => !isMemory(key)))(
    '$damage $key: a change is published',
    async ({ key, damage }) => {
      const publishing = openPublishing(openMemoryStore(damaged(key, damage)))
      await publishing.sync(2, after)
      expect(await publishing.names()).toEqual(['team.a', 'team.b', 'team.c'])
      expect((await publishing.pointer())?.sequence).toBe(3)
    },
  )

  test.for(CASES.filter(({ key }) => isMemory(key)))(
    '$damage $key: the sync says so or publishes, and forgets nothing',
    async ({ key, damage }) => {
      const publishing = openPublishing(openMemoryStore(damaged(key, damage)))
      const isPointer = key.endsWith('current.json')
      const { isComplete } = await publishing.sync(2, after)
      const served = await publishing.request('/v0.1/servers')
      // Without its pointer a registry has no memory: it is left alone, and says so.
      if (isPointer) return expect([isComplete, served.status]).toEqual([false, 503])
      expect(served.status).toBe(200)
      const { servers } = JSON.parse(await served.text())
      const { publishedAt } = servers[0]._meta['io.modelcontextprotocol.registry/official']
      expect(publishedAt).toBe(new Date(T0).toISOString())
    },
  )

  test('has a history to be damaged', () => {
    expect(current?.history).toHaveLength(2)
  })
})
