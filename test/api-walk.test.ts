import fc from 'fast-check'
import type { Hono } from 'hono'
import { expect, test } from 'vitest'
import { openMemoryStore } from '../adapters/store/memory.ts'
import type { Entry } from '../core/model/entry.ts'
import { compareBy, compareText } from '../core/model/order.ts'
import { createApi } from '../functions/api/api.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'
import { openListing, type Version } from './listing.ts'
import { at, HOUR, openPublishing, server } from './publishing.ts'

type Query = {
  readonly search?: string
  readonly version?: string
  readonly updated_since?: string
  readonly include_deleted?: string
}
type Named = { readonly name: string; readonly version: string }

const keyOf = ({ name, version }: Named): string => `${name} ${version}`
const byNameThenVersion = compareBy<Named>(
  (a, b) => compareText(a.name, b.name),
  (a, b) => compareText(a.version, b.version),
)

/** Which entries a list has, said as plainly as can be. */
const select = (entries: readonly Entry[], query: Query): readonly string[] => {
  const words = (query.search ?? '').toLowerCase().split(/\s+/)
  return entries
    .filter(({ status }) => status === 'active' || query.include_deleted === 'true' || query.updated_since)
    .filter(({ isLatest, version }) => (query.version === 'latest' ? isLatest : version === (query.version ?? version)))
    .filter(({ updatedAt }) => query.updated_since === undefined || updatedAt > Date.parse(query.updated_since))
    .filter(({ server: { name, title = '', description } }) =>
      words.every((word) => [name, title, description].some((text) => text.toLowerCase().includes(word))),
    )
    .toSorted(byNameThenVersion)
    .map(keyOf)
}

/** Follows the cursors as VS Code does: only the first page says what is searched for. */
const walk = async (
  app: Hono,
  query: Query,
  limits: readonly number[],
  beforePage: (page: number) => Promise<void> = async () => {},
): Promise<readonly string[]> => {
  const met: string[] = []
  let cursor: string | undefined
  for (let page = 0; ; page++) {
    await beforePage(page)
    const limit = limits[page % limits.length] ?? 1
    const asked = cursor === undefined ? new URLSearchParams(query) : `cursor=${cursor}`
    const answer = await app.request(`/v0.1/servers?limit=${limit}&${asked}`)
    expect(answer.status).toBe(200)
    const { servers, metadata }: { servers: { server: Named }[]; metadata: { count: number; nextCursor?: string } } =
      JSON.parse(await answer.text())
    expect(metadata.count).toBe(servers.length)
    expect(servers.length).toBeLessThanOrEqual(limit)
    met.push(...servers.map((each) => keyOf(each.server)))
    if (metadata.nextCursor === undefined) return met
    // Only what is full goes on, so no walk ends in an empty page unless something was withdrawn meanwhile.
    expect(servers).toHaveLength(limit)
    expect(metadata.nextCursor).toMatch(/^[A-Za-z0-9_-]+$/)
    cursor = metadata.nextCursor
  }
}

const names = [
  'com.example/alpha',
  'com.example/Alpha',
  'com.example/alpha2',
  'COM.Example/beta',
  'zz/aa',
  'aa.b/c-d_e',
]
const versions = ['1.0.0', '1.9.0', '1.10.0', '2.0.0-rc.1', '1.0.0+build.5', 'v3', '2025-11', 'β1']
const texts = [
  'Straße',
  'ÎLE DE RÉ',
  'İstanbul',
  'ΟΔΟΣ',
  '数据库 查询',
  '🦊 fox',
  'A "quoted" \\ text',
  'plain',
  '100%_',
]

const anyText = fc.oneof(fc.constantFrom(...texts), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }))
const anyVersion: fc.Arbitrary<Version> = fc.record(
  {
    name: fc.constantFrom(...names),
    version: fc.constantFrom(...versions),
    title: anyText,
    description: anyText,
  },
  { requiredKeys: ['name', 'version'] },
)
const anyVersions = fc.uniqueArray(anyVersion, { selector: keyOf, maxLength: 30 })
const manyVersions = fc.uniqueArray(anyVersion, { selector: keyOf, minLength: 10, maxLength: 40 })
/** Also words that only the end of one name and the beginning of the next would give. */
const joined = names.toSorted().join('')
const acrossNames = fc
  .tuple(fc.nat(joined.length - 1), fc.integer({ min: 1, max: 20 }))
  .map(([from, length]) => joined.slice(from, from + length))
const anySearch = fc.oneof(
  fc.constantFrom(
    'alpha',
    'ALPHA',
    'com.example',
    'removed',
    'a b',
    'ß',
    'îLe',
    'İ',
    '数据',
    '🦊',
    '%',
    '"',
    '\\',
    'ος',
  ),
  acrossNames,
  anyText,
)
const anyQuery: fc.Arbitrary<Query> = fc
  .record(
    {
      search: anySearch,
      version: fc.oneof(fc.constant('latest'), fc.constantFrom(...versions)),
      updated_since: fc.constantFrom(...[-1, 0, 60, 120].map((minutes) => new Date(at(minutes)).toISOString())),
      include_deleted: fc.constantFrom('true', 'false'),
    },
    { requiredKeys: [] },
  )
  .filter(({ updated_since, include_deleted }) => updated_since === undefined || include_deleted !== 'false')
/** Queries that select enough for several pages. */
const broadQuery: fc.Arbitrary<Query> = fc.constantFrom<Query>(
  {},
  { version: 'latest' },
  { include_deleted: 'true' },
  { version: 'latest', include_deleted: 'true' },
  { updated_since: new Date(at(0)).toISOString() },
  { search: 'A' },
)
const anyLimits = fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 100 })), {
  minLength: 1,
  maxLength: 4,
})

test('a walk gives what a plain filter selects, each once, by name and then version as text', async () => {
  await fc.assert(
    fc.asyncProperty(anyVersions, anyVersions, anyQuery, anyLimits, async (before, now, query, limits) => {
      const { publish, open } = openListing()
      await publish(0, before)
      const entries = await publish(HOUR, now)
      expect(await walk(open(), query, limits)).toEqual(select(entries, query))
    }),
    { numRuns: 150 },
  )
})

test('32: a walk across a publication meets every entry that both select exactly once, and none twice', async () => {
  let across = 0
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(manyVersions, manyVersions, manyVersions),
      fc.oneof(broadQuery, anyQuery),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      async ([first, second, third], query, limits, swapAt) => {
        const { publish, open } = openListing()
        await publish(0, first)
        const before = select(await publish(HOUR, second), query)
        const app = open()
        let after = before
        const met = await walk(app, query, limits, async (page) => {
          // Half of it stays as it is: what nobody touched must not be lost because of its neighbours.
          if (page !== swapAt) return
          across++
          const kept = second.filter((_, index) => index % 2 === 0)
          const others = third.filter((each) => !kept.some((one) => keyOf(one) === keyOf(each)))
          after = select(await publish(3 * HOUR, [...kept, ...others]), query)
        })
        expect(met.filter((key, index) => met.indexOf(key) !== index)).toEqual([])
        expect(before.filter((key) => after.includes(key)).filter((key) => !met.includes(key))).toEqual([])
        expect(met.filter((key) => !before.includes(key) && !after.includes(key))).toEqual([])
        if (query.version !== 'latest') return
        const named = met.map((key) => key.split(' ')[0])
        expect(new Set(named).size).toBe(named.length)
      },
    ),
    { numRuns: 150 },
  )
  // That it was tried at all, and not only on walks that were over by then.
  expect(across).toBeGreaterThan(50)
})

test('30, 32: through syncs, a version that changes during a walk is met once by its name', async () => {
  const store = openMemoryStore()
  const publishing = openPublishing(store)
  const cluster = (version: string) =>
    ['a', 'b', 'c', 'd'].map((name) => server(name, { annotations: { 'registry-version': version } }))
  await publishing.sync(0, cluster('1.0.0'))
  const app = createApi(createReader(store, clockAt(publishing.now)))
  const met = await walk(app, { version: 'latest' }, [2], async (page) => {
    if (page === 1) await publishing.sync(HOUR, cluster('0.9.0'))
  })
  expect(met.map((key) => key.replace('dev.stacklok.toolhive/team.', ''))).toEqual([
    'a 1.0.0',
    'b 1.0.0',
    'c 0.9.0',
    'd 0.9.0',
  ])
})

test('a word that only two neighbouring names have together finds neither', async () => {
  const { publish, open } = openListing()
  const version = '1.0.0'
  await publish(0, [
    { name: 'com.example/alpha', version },
    { name: 'com.example/beta', version },
    { name: 'com.example/gamma', version },
  ])
  for (const search of ['alphacom', 'betacom.example', 'a' + 'com', 'gamma1.0.0', '1.0.01.0.0'])
    expect(await walk(open(), { search }, [10]), search).toEqual([])
  expect(await walk(open(), { search: 'BETA' }, [10])).toEqual(['com.example/beta 1.0.0'])
})

test('the versions of a server are the newest published first, and latest is the highest', async () => {
  const { publish, open } = openListing()
  const name = 'com.example/alpha'
  const version = (each: string): Version => ({ name, version: each })
  await publish(0, [version('1.9.0'), version('0.5.0')])
  await publish(HOUR, [version('1.9.0'), version('1.10.0')])
  await publish(2 * HOUR, [version('1.9.0'), version('1.10.0'), version('1.2.0')])
  const app = open()
  const versionsOf = async (query: string): Promise<readonly string[]> => {
    const { servers } = JSON.parse(
      await (await app.request(`/v0.1/servers/com.example%2Falpha/versions${query}`)).text(),
    )
    return servers.map((each: { server: Named }) => each.server.version)
  }
  expect(await versionsOf('')).toEqual(['1.2.0', '1.10.0', '1.9.0'])
  expect(await versionsOf('?include_deleted=true')).toEqual(['1.2.0', '1.10.0', '1.9.0', '0.5.0'])
  const latest = await app.request('/v0.1/servers/com.example%2Falpha/versions/latest')
  expect(await latest.json()).toMatchObject({ server: { version: '1.10.0' } })
  expect((await app.request('/v0.1/servers/com.example%2Falpha/versions/0.5.0')).status).toBe(404)
  const deleted = await app.request('/v0.1/servers/com.example%2Falpha/versions/0.5.0?include_deleted=true')
  expect(await deleted.json()).toMatchObject({ server: { version: '0.5.0', description: 'Removed' } })
})
