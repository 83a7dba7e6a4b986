import { expect, test } from 'vitest'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { BlobStore } from '../core/ports.ts'
import { createApi } from '../functions/api/api.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'
import { at, openPublishing, server } from './publishing.ts'

// Answers that are given again without asking anybody: only while they are what everyone should get.

const LIST = '/registry/two/v0.1/servers'
const both =
  'sources: [{ name: c, kubernetes: {} }]\nregistries: [{ name: one, sources: [c] }, { name: two, sources: [c] }]'

const begin = async () => {
  const p = openPublishing(openMemoryStore(), both)
  await p.sync(0, [server('a')])
  let now = at(0)
  const reads: string[] = []
  const counted: BlobStore = {
    ...p.store,
    read: (key, known) => {
      reads.push(key)
      return p.store.read(key, known)
    },
  }
  const api = createApi(
    createReader(
      counted,
      clockAt(() => now),
    ),
  )
  const pass = (milliseconds: number): void => {
    now += milliseconds
  }
  return { p, api, reads, pass }
}

test('the second answer asks nobody, and is the same', async () => {
  const { api, reads } = await begin()
  const first = await api.request(LIST)
  const before = reads.length
  const second = await api.request(LIST)
  expect([reads.length, await second.text(), second.headers.get('etag')]).toEqual([
    before,
    await first.text(),
    first.headers.get('etag'),
  ])
})

test('a new publication is served when the pointer is due', async () => {
  const { p, api, pass } = await begin()
  await api.request(LIST)
  await p.sync(1, [server('a'), server('b')])
  expect(await (await api.request(LIST)).json()).toMatchObject({ metadata: { count: 1 } })
  pass(31_000)
  expect(await (await api.request(LIST)).json()).toMatchObject({ metadata: { count: 2 } })
})

test('a registry that the index names no longer is gone with it', async () => {
  const { p, api, pass } = await begin()
  await api.request(LIST)
  pass(20_000)
  await api.request(`${LIST}?limit=3`)
  p.configure('sources: [{ name: c, kubernetes: {} }]\nregistries: [{ name: one, sources: [c] }]')
  await p.sync(1, [server('a')])
  pass(11_000)
  expect((await api.request('/v0.1/servers')).status).toBe(200)
  for (const path of [LIST, `${LIST}?limit=3`]) expect((await api.request(path)).status).toBe(404)
})

test('a store that is away is not a registry that is not there', async () => {
  const away: BlobStore = {
    ...openMemoryStore(),
    read: async () => {
      throw new OperationError('StoreAway', 'no answer')
    },
  }
  const api = createApi(
    createReader(
      away,
      clockAt(() => 0),
    ),
  )
  for (const path of ['/v0.1/servers', '/v1/registries', '/v1/registries/one', '/v1/sources'])
    expect([path, (await api.request(path)).status]).toEqual([path, 503])
})

test('/readyz answers while the store hangs', async () => {
  const p = openPublishing(openMemoryStore())
  await p.sync(0, [server('a')])
  let now = at(0)
  let isHanging = false
  const hanging: BlobStore = {
    ...p.store,
    read: (key, known) => (isHanging ? new Promise(() => {}) : p.store.read(key, known)),
  }
  // Whoever waits has waited long enough at once.
  const api = createApi(createReader(hanging, { now: () => now, wait: async () => {} }))
  expect((await api.request('/readyz')).status).toBe(200)
  isHanging = true
  now += 60_000
  expect((await api.request('/readyz')).status).toBe(200)
})

test('what a client has already, or only asks about, is not read for it', async () => {
  const { api, reads } = await begin()
  const file = '/registry/one/registry.json'
  const etag = (await api.request(file)).headers.get('etag') ?? ''
  const before = reads.length
  expect((await api.request(file, { headers: { 'If-None-Match': etag } })).status).toBe(304)
  expect((await api.request(file, { method: 'HEAD' })).status).toBe(200)
  expect(reads.length).toBe(before)
})

test.each(['2026-02-30T00:00:00Z', '2026-01-31T24:00:00Z'])('%s is no time', async (time) => {
  const { api } = await begin()
  expect((await api.request(`/v0.1/servers?updated_since=${time}`)).status).toBe(400)
})

test('nothing is said of a registry that is not there', async () => {
  const { api } = await begin()
  for (const path of ['openapi.json', 'openapi.yaml', 'v0.1/x/dev.toolhive/skills'])
    expect([path, (await api.request(`/registry/nope/${path}`)).status]).toEqual([path, 404])
})
