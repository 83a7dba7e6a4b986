import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { createApi } from '../functions/api/api.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'
import { openPublishing, servers } from './publishing.ts'

// Requests that nobody sends by accident. Each gets an answer with a body, and none of them is our fault.

const store = openMemoryStore()
const publishing = openPublishing(store)
await publishing.sync(0, servers(5))
const app = createApi(createReader(store, clockAt(publishing.now)), { compresses: true })
const ALPHA = 'dev.stacklok.toolhive%2Fteam.s00'

const bodyOf = async (answer: Response): Promise<Record<string, unknown>> => JSON.parse(await answer.text())

/** An answer of ours, whatever was asked: never a 5xx, never without a body, and readable by a browser. */
const expectAnswer = async (answer: Response, hasBody = true): Promise<void> => {
  expect([200, 204, 304, 308, 400, 404, 405, 414, 422, 501]).toContain(answer.status)
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  if (answer.status === 308) expect(answer.headers.get('location')).toMatch(/^\/(?![/\\])/)
  if (answer.status < 400 || !hasBody) return
  const { status, title, detail, error, code } = await bodyOf(answer)
  expect(status).toBe(answer.status)
  for (const text of [title, detail, error, code]) expect(text).toMatch(/./)
  expect(String(detail).length).toBeLessThan(300)
}

const base64Url = (text: string): string => Buffer.from(text).toString('base64url')
const cursorOf = (value: unknown): string => base64Url(JSON.stringify(value))
const MANY = 'a'.repeat(10_000_000)

describe('paths', () => {
  test.each([
    ['/v0.1/servers/%00/versions', 400],
    ['/v0.1/servers?search=%00', 400],
    [`/v0.1/servers/${ALPHA}%00/versions/latest`, 400],
    [`/v0.1/servers/${ALPHA}/versions/%00`, 400],
    ['/registry/%00/registry.json', 400],
    ['/%00', 400],
    ['/v0.1/servers/%/versions', 400],
    ['/v0.1/servers/%zz/versions/latest', 400],
    ['/v0.1/servers/%ff%fe/versions', 400],
    ['/v0.1/servers/%c0%af/versions', 400],
    ['/v0.1/servers/%ed%a0%80/versions', 400],
    ['/v0.1/servers?search=%ff', 400],
    ['/v0.1/servers?x=%', 400],
    ['/%', 400],
    ['/%ff/', 400],
    ['/v0.1/servers/%25/versions', 404],
    ['/v0.1/servers/%2500/versions', 404],
    ['/v0.1/servers/%252F/versions', 404],
    ['/v0.1/servers/dev.stacklok.toolhive%252Fteam.s00/versions', 404],
    ['/v0.1/servers/\ud800/versions', 404],
    ['/v0.1/servers?search=\udfff', 200],
    ['/v0.1/servers/..%2f..%2fetc%2fpasswd/versions', 404],
    ['/v0.1/servers/../../../etc/passwd', 404],
    ['/v0.1/servers/%2e%2e/%2e%2e/index.json', 404],
    ['/registry/..%2fdefault/registry.json', 404],
    ['/registry/default%2fcurrent.json/registry.json', 404],
    ['/registry/__proto__/v0.1/servers', 404],
    ['/registry/constructor/registry.json', 404],
    ['/v1/registries/__proto__', 404],
    ['/v0.1/servers/__proto__%2Fconstructor/versions/toString', 404],
    ['/v0.1/servers/ %20/versions', 404],
    [`/v0.1/servers/${'a%2F'.repeat(500)}b/versions`, 404],
    [`/v0.1/servers/${'a/'.repeat(500)}b/versions`, 404],
    [`/${MANY}`, 414],
    [`/v0.1/servers/${MANY}/versions/latest`, 414],
    [`/v0.1/servers?search=${MANY}`, 414],
    [`/v0.1/servers?${'a=1&'.repeat(1_000_000)}`, 414],
    [`/registry/${MANY}/registry.json`, 414],
    ['/v0.1/SERVERS', 404],
    ['/v0.1//servers', 404],
    ['//v0.1/servers', 404],
    ['/v0.1/servers;jsessionid=1', 404],
    ['/v0.1/servers%3Flimit=1', 404],
  ])('%.60s is %i', async (path, status) => {
    const answer = await app.request(path)
    expect(answer.status).toBe(status)
    await expectAnswer(answer)
  })

  test.each([
    '//evil.example/',
    '///evil.example//',
    '/.//evil.example/',
    '/\\evil.example/',
    '/\\/evil.example/',
    '/%5Cevil.example/',
    '/%2F/evil.example/',
    '/%09/evil.example/',
    '/\t/evil.example/',
    '//evil.example/%2e%2e/',
    '/https://evil.example/',
    '//evil.example/?next=//evil.example/',
    '//user@evil.example/',
  ])('%j leads nowhere else', async (path) => {
    // As text: a path alone would be read as the name of a host before it got here.
    const answer = await app.request(`http://registry.example${path}`)
    await expectAnswer(answer)
    const to = new URL(answer.headers.get('location') ?? '/', 'http://registry.example/v0.1/')
    expect(to.host).toBe('registry.example')
  })
})

describe('parameters', () => {
  test.each([
    ['limit=1e9', 422],
    ['limit=1000000000', 422],
    ['limit=99999999999999999999', 422],
    ['limit=-0', 422],
    ['limit=-1', 422],
    ['limit=0', 422],
    ['limit=000', 422],
    ['limit=1.5', 422],
    ['limit=0x10', 422],
    ['limit=%EF%BC%91', 422],
    ['limit=+5', 422],
    ['limit=5%20', 422],
    ['limit=NaN', 422],
    ['limit=Infinity', 422],
    ['limit=007', 200],
    ['limit[]=1', 200],
    ['limit=1&limit=2', 400],
    ['limit=1&%6Cimit=2', 400],
    ['search=a&search=b', 400],
    ['cursor=&cursor=', 400],
    ['x=1&x=2', 400],
    [`${'y'.repeat(2000)}=1&${'y'.repeat(2000)}=2`, 400],
    ['__proto__=1&constructor=2', 200],
    ['updated_since=garbage', 400],
    ['updated_since=2025-13-45T99:99:99Z', 400],
    ['updated_since=2025-01-01', 400],
    ['updated_since=2025-01-01T00:00:00', 400],
    ['updated_since=2025-01-01T00:00:00%2B99:99', 400],
    ['updated_since=1735689600', 400],
    ['updated_since=%2B275760-09-13T00:00:00Z', 400],
    ['updated_since=2025-01-01t00:00:00z', 200],
    [`updated_since=2025-01-01T00:00:00.${'9'.repeat(5000)}Z`, 400],
    ['include_deleted=1', 422],
    ['include_deleted=TRUE', 422],
    ['version=%5E1.0.0', 200],
    ['version=__proto__', 200],
    [`version=${'9'.repeat(5000)}`, 200],
    ['search=.*%28%5B', 200],
    ['search=%25%5F', 200],
    ['search=%F0%9F%A6%8A%E2%80%AE%EF%BB%BF', 200],
    ['search=%20%09%0A', 200],
    ['&&&=&=', 400],
    ['=', 200],
    ['?', 200],
  ])('%.60s is %i', async (query, status) => {
    const answer = await app.request(`/v0.1/servers?${query}`)
    expect(answer.status).toBe(status)
    await expectAnswer(answer)
  })

  test('a search is as long as a name at most, so that every page of it can be asked for', async () => {
    const words = (length: number) => 's '.repeat(length / 2)
    const first = await bodyOf(await app.request(`/v0.1/servers?limit=1&search=${encodeURIComponent(words(200))}`))
    const { nextCursor } = first.metadata as { nextCursor: string }
    expect((await app.request(`/v0.1/servers?cursor=${nextCursor}`)).status).toBe(200)
    for (const path of [
      `search=${encodeURIComponent(words(202))}`,
      `cursor=${cursorOf([{ search: words(4000) }, { name: '', version: '' }])}`,
    ])
      expect(await bodyOf(await app.request(`/v0.1/servers?${path}`))).toMatchObject({ status: 422 })
  })
})

describe('cursors', () => {
  const after = { name: 'a', version: '1' }
  test.each([
    ['no base64', '!!!!'],
    ['base64 that is not for URLs', '%2B%2F%3D%3D'],
    ['one letter', 'A'],
    ['padding', 'e30%3D'],
    ['of the official registry', 'com.example%2Fa:1.0.0'],
    ['null', cursorOf(null)],
    ['a number', cursorOf(1)],
    ['a text', cursorOf('x')],
    ['an object', cursorOf({ parameters: {}, after })],
    ['nothing in it', cursorOf([])],
    ['too much in it', cursorOf([{}, after, after])],
    ['lists', cursorOf([[], []])],
    ['no version', cursorOf([{}, { name: 'a' }])],
    ['a name that is none', cursorOf([{}, { name: {}, version: '1' }])],
    ['an unknown parameter', cursorOf([{ limit: '5' }, after])],
    ['a parameter that is no text', cursorOf([{ search: ['a'] }, after])],
    ['a prototype', base64Url('[{"__proto__":{"search":"x"}},{"name":"a","version":"1"}]')],
    ['a prototype as a position', base64Url('[{},{"__proto__":{"name":"a","version":"1"}}]')],
    ['a constructor', cursorOf([{ constructor: 'x' }, after])],
    ['a bad time', cursorOf([{ updated_since: 'x' }, after])],
    [
      'a time without what was deleted',
      cursorOf([{ updated_since: '2020-01-01T00:00:00Z', include_deleted: 'false' }, after]),
    ],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x5b]).toString('base64url')],
    ['deep', base64Url('['.repeat(4000))],
    ['NUL', base64Url('\0')],
  ])('%s is 400', async (_, cursor) => {
    const answer = await app.request(`/v0.1/servers?cursor=${cursor}`)
    expect(answer.status).toBe(400)
    await expectAnswer(answer)
  })

  test.each([
    ['after everything', cursorOf([{}, { name: '\uffff', version: '' }]), 0],
    ['before everything', cursorOf([{}, { name: '', version: '' }]), 5],
    ['at a name that is not there', cursorOf([{}, { name: 'dev.stacklok.toolhive/team.s02x', version: '1' }]), 2],
    ['with more than is read of it', cursorOf([{}, { ...after, x: 1 }]), 5],
    ['long', cursorOf([{}, { name: 'z'.repeat(4000), version: '' }]), 0],
    ['with a lone surrogate', cursorOf([{}, { name: 'a\ud800', version: '' }]), 5],
  ])('one %s is a place like any other', async (_, cursor, count) => {
    expect(await bodyOf(await app.request(`/v0.1/servers?cursor=${cursor}`))).toMatchObject({ metadata: { count } })
  })

  test('one of 9 KB is 414', async () => {
    expect((await app.request(`/v0.1/servers?cursor=${'A'.repeat(9000)}`)).status).toBe(414)
  })

  test('random bytes and random JSON are 400, or a place', async () => {
    const anyCursor = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
      fc.json().map(base64Url),
      fc.tuple(fc.jsonValue(), fc.jsonValue()).map(cursorOf),
      fc.string({ unit: 'binary' }).map(encodeURIComponent),
    )
    await fc.assert(
      fc.asyncProperty(anyCursor, async (cursor) => {
        const answer = await app.request(`/v0.1/servers?cursor=${cursor}`)
        expect([200, 400]).toContain(answer.status)
        await expectAnswer(answer)
      }),
      { numRuns: 500 },
    )
  })
})

describe('headers and methods', () => {
  const garbage = [
    '',
    ' ',
    ',',
    ',,,,',
    '"',
    '""',
    'W/',
    'W/W/""',
    '"\\"',
    '\xff\xfe',
    ';',
    'q',
    ';q=',
    '*/*',
    'x'.repeat(100_000),
  ]
  test.each(
    garbage.flatMap((value) =>
      ['If-None-Match', 'Accept-Encoding', 'Accept', 'Range', 'If-Modified-Since'].map((name) => [name, value]),
    ),
  )('%s: %.20j changes nothing', async (name = '', value = '') => {
    const answer = await app.request('/v0.1/servers', { headers: { [name]: value } })
    expect(answer.status).toBe(200)
    expect((await bodyOf(answer)).metadata).toEqual({ count: 5 })
  })

  test.each(['Accept-Encoding', 'If-None-Match'])('%s with ten thousand items is read in no time', async (name) => {
    const value = Array.from({ length: 10_000 }, (_, index) => `"${index}";q=0`).join(',')
    expect((await app.request('/v0.1/servers', { headers: { [name]: value } })).status).toBe(200)
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'BREW', 'get', 'QUERY', '__proto__', 'constructor'])(
    'nothing is written by %s',
    async (method) => {
      for (const path of [
        '/',
        '/healthz',
        '/v0.1/servers',
        '/v0.1/publish',
        `/v0.1/servers/${ALPHA}/versions/latest`,
        '/registry/default/registry.json',
        '/%',
        `/${'a'.repeat(9000)}`,
      ]) {
        const answer = await app.request(path, { method, ...(method !== 'get' && { body: '{"name":"x"}' }) })
        await expectAnswer(answer)
        if (method !== 'get') expect(answer.status).toBeGreaterThanOrEqual(400)
      }
    },
  )

  test('any path, query and header gets an answer', async () => {
    const part = fc.oneof(
      fc.constantFrom(
        'v0.1',
        'v0',
        'servers',
        'versions',
        'latest',
        'registry',
        'default',
        'x',
        '..',
        '.',
        '',
        ALPHA,
        '%2e%2e',
        '%00',
        '%',
        'registry.json',
      ),
      fc.string({ unit: 'binary', maxLength: 8 }).map(encodeURIComponent),
      fc.string({ maxLength: 8 }),
    )
    const query = fc.tuple(
      fc.constantFrom('limit', 'cursor', 'search', 'version', 'updated_since', 'include_deleted', '__proto__'),
      part,
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 8 }),
        fc.array(query, { maxLength: 4 }),
        fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'POST', 'DELETE', 'LINK'),
        fc.string({ maxLength: 30 }).map((text) => text.replace(/[^\x21-\x7e]/g, '')),
        async (parts, queries, method, header) => {
          const search = queries.map(([name, value]) => `${name}=${value}`).join('&')
          const answer = await app.request(`http://a.example/${parts.join('/')}?${search}`, {
            method,
            headers: { 'If-None-Match': header, 'Accept-Encoding': header },
          })
          await expectAnswer(answer, method !== 'HEAD')
        },
      ),
      { numRuns: 1000 },
    )
  })
})
