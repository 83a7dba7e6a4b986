import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { createApi } from '../functions/api/api.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'
import { type Fault, faulty } from './faulty.ts'
import { at, HOUR, openPublishing, server } from './publishing.ts'
import { serverJson } from './server-json.ts'

// Every endpoint and every error, against the components of the official OpenAPI document where it lies beside the
// project, and always against what its clients need of it.

const OPENAPI = new URL('../../shared/data/mcp-registry/openapi.145c2ec7.yaml', import.meta.url)

const validatorOf = (component: string): ValidateFunction | undefined => {
  if (!existsSync(OPENAPI)) return undefined
  // The `$id` of the document makes it no OpenAPI; only its components are needed.
  const { components } = parse(readFileSync(OPENAPI, 'utf8'))
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'openapi', components })
  return ajv.compile({ $ref: `openapi#/components/schemas/${component}` })
}
const officialEntry = validatorOf('ServerResponse')
const officialList = validatorOf('ServerList')

const time = z.iso.datetime()
const official = z.strictObject({
  status: z.enum(['active', 'deleted']),
  isLatest: z.boolean(),
  publishedAt: time,
  updatedAt: time,
  statusChangedAt: time,
})
const meta = (status: 'active' | 'deleted') =>
  z.strictObject({ 'io.modelcontextprotocol.registry/official': official.extend({ status: z.literal(status) }) })
const tombstone = z.strictObject({
  name: serverJson.shape.name,
  version: z.string(),
  description: z.literal('Removed'),
})
const entry = z.union([
  z.strictObject({ server: serverJson, _meta: meta('active') }),
  z.strictObject({ server: tombstone, _meta: meta('deleted') }),
])
const list = z.strictObject({
  servers: z.array(entry),
  // Absent, not null, on the last page.
  metadata: z.strictObject({ count: z.int(), nextCursor: z.string().min(1).optional() }),
})
type List = z.infer<typeof list>
const problem = z.strictObject({
  title: z.string().min(1),
  status: z.int(),
  detail: z.string().min(1),
  error: z.string().min(1),
  code: z.string().regex(/^[A-Z][A-Za-z]+$/),
})

const checked = <T>(schema: z.ZodType<T>, validate: ValidateFunction | undefined, value: unknown): T => {
  if (validate !== undefined) expect(validate(value), JSON.stringify(validate.errors)).toBe(true)
  return schema.parse(value)
}

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': /\bGET\b.*\bOPTIONS\b/,
  'access-control-allow-headers': /\bAuthorization\b.*\bContent-Type\b.*\bIf-None-Match\b/,
  'access-control-expose-headers': /\bETag\b/,
}
const expectCors = ({ headers }: Response): void => {
  for (const [name, value] of Object.entries(CORS)) expect(headers.get(name), name).toMatch(value)
}

const NAME = 'dev.stacklok.toolhive/team'
const withVersion = (version: string) => ({
  annotations: { 'registry-version': version, 'registry-title': 'Zürich 🏔' },
})
const store = openMemoryStore()
const publishing = openPublishing(
  store,
  'sources: [{ name: a, kubernetes: {} }, { name: b, kubernetes: {} }]\nregistries: [{ name: one, sources: [a] }, { name: two, sources: [b] }]',
)
const letters = ['alpha', 'beta', 'gamma', 'delta', 'versions']
const cluster = (...names: readonly string[]) => names.map((name) => server(name, withVersion('1.0.0+build')))
await publishing.sync(0, { a: [...cluster(...letters), server('gone')], b: [server('other')] })
await publishing.sync(HOUR, {
  a: [...cluster(...letters.slice(1)), server('alpha', withVersion('1.1.0'))],
  b: [server('other')],
})
const clock = clockAt(publishing.now)
const app = createApi(createReader(store, clock), { version: '1.2.3' })
const compressing = createApi(createReader(store, clock), { compresses: true })

const getList = async (path: string): Promise<List> => {
  const answer = await app.request(path)
  expect(answer.status, path).toBe(200)
  expect(answer.headers.get('content-type')).toContain('application/json')
  expectCors(answer)
  const body = checked(list, officialList, await answer.json())
  expect(body.metadata.count).toBe(body.servers.length)
  return body
}
const namesIn = ({ servers }: List): readonly string[] =>
  servers.map((each) => `${each.server.name.replace(`${NAME}.`, '')} ${each.server.version}`)

describe.each(['/v0.1', '/v0', '/registry/one/v0.1', '/registry/one/v0'])('under %s', (base) => {
  test('the list has the active entries', async () => {
    const body = await getList(`${base}/servers`)
    expect(namesIn(body)).toEqual([
      'alpha 1.1.0',
      ...letters
        .toSorted()
        .slice(1)
        .map((name) => `${name} 1.0.0+build`),
    ])
    expect(body.metadata).toEqual({ count: 5 })
  })

  test.each([
    ['limit=2', 2],
    ['limit=100', 5],
    ['search=ALPHA', 1],
    ['search=z%C3%BCrich+%F0%9F%8F%94', 5],
    ['search=server+beta', 1],
    ['search=nobody', 0],
    ['version=latest', 5],
    ['version=1.1.0', 1],
    ['version=1.0.0%2Bbuild', 4],
    ['version=9', 0],
    ['include_deleted=true', 7],
    ['include_deleted=false', 5],
    ['include_deleted=true&version=latest', 6],
    [`updated_since=${encodeURIComponent(new Date(at(30)).toISOString())}`, 3],
    [`updated_since=${encodeURIComponent(new Date(at(HOUR)).toISOString())}`, 0],
    ['updated_since=2020-01-01T00:00:00%2B02:00&include_deleted=true', 7],
    ['search=&version=&cursor=&updated_since=&include_deleted=', 5],
    ['q=ignored&utm_source=x', 5],
    ['search=a&version=latest&limit=1&include_deleted=true', 1],
  ])('?%s selects %i', async (query, count) => {
    expect((await getList(`${base}/servers?${query}`)).servers).toHaveLength(count)
  })

  test('pages go on with a cursor to the last, which has none', async () => {
    const first = await getList(`${base}/servers?limit=3&version=latest`)
    const last = await getList(`${base}/servers?limit=3&cursor=${first.metadata.nextCursor}`)
    expect(last.metadata).toEqual({ count: 2 })
    expect(new Set([...namesIn(first), ...namesIn(last)]).size).toBe(5)
  })

  test.each([`${NAME}.alpha`, `${NAME.replace('/', '%2F')}.alpha`, `${NAME.replace('/', '%2f')}.alpha`])(
    '%s has versions, one of them, and the latest',
    async (name) => {
      expect(namesIn(await getList(`${base}/servers/${name}/versions`))).toEqual(['alpha 1.1.0'])
      const all = await getList(`${base}/servers/${name}/versions?include_deleted=true`)
      expect(namesIn(all)).toEqual(['alpha 1.1.0', 'alpha 1.0.0+build'])
      for (const version of ['1.1.0', 'latest']) {
        const answer = await app.request(`${base}/servers/${name}/versions/${version}`)
        expect(answer.status).toBe(200)
        expectCors(answer)
        expect(checked(entry, officialEntry, await answer.json())).toEqual(all.servers[0])
      }
      const deleted = await app.request(`${base}/servers/${name}/versions/1.0.0%2Bbuild?include_deleted=true`)
      expect(checked(entry, officialEntry, await deleted.json())).toEqual(all.servers[1])
    },
  )

  test('where all versions are deleted, latest is there for who asks for what was deleted', async () => {
    const path = `${base}/servers/${encodeURIComponent(`${NAME}.gone`)}/versions/latest`
    expect((await app.request(path)).status).toBe(404)
    const answer = await app.request(`${path}?include_deleted=true`)
    expect(checked(entry, officialEntry, await answer.json()).server.description).toBe('Removed')
  })

  test.each(['skills', 'plugins'])('there are no %s, and that is an answer', async (kind) => {
    const answer = await app.request(`${base}/x/dev.toolhive/${kind}`)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ [kind]: [], metadata: { count: 0 } })
  })

  const alpha = `/servers/${encodeURIComponent(`${NAME}.alpha`)}`
  test.each([
    ['GET', '/servers?limit=0', 422, 'ParameterInvalid'],
    ['GET', '/servers?limit=101', 422, 'ParameterInvalid'],
    ['GET', '/servers?limit=abc', 422, 'ParameterInvalid'],
    ['GET', '/servers?limit=', 422, 'ParameterInvalid'],
    ['GET', '/servers?include_deleted=yes', 422, 'ParameterInvalid'],
    ['GET', `${alpha}/versions?include_deleted=yes`, 422, 'ParameterInvalid'],
    ['GET', `${alpha}/versions/latest?include_deleted=yes`, 422, 'ParameterInvalid'],
    ['GET', '/servers?updated_since=yesterday', 400, 'ParameterInvalid'],
    ['GET', '/servers?updated_since=2020-01-01T00:00:00Z&include_deleted=false', 400, 'ParameterInvalid'],
    ['GET', '/servers?cursor=nonsense', 400, 'CursorInvalid'],
    ['GET', '/servers?limit=1&limit=1', 400, 'ParameterRepeated'],
    ['GET', `${alpha}/versions?include_deleted=true&include_deleted=true`, 400, 'ParameterRepeated'],
    ['GET', '/servers?search=%', 400, 'PathInvalid'],
    ['GET', '/servers/a%00b/versions', 400, 'PathInvalid'],
    ['GET', '/servers/nobody%2Fhere/versions', 404, 'ServerNotFound'],
    ['GET', '/servers/nobody%2Fhere/versions/latest', 404, 'ServerNotFound'],
    ['GET', '/servers/nobody/here/versions/latest', 404, 'ServerNotFound'],
    ['GET', `${alpha}/versions/9.9.9`, 404, 'ServerNotFound'],
    ['GET', alpha, 404, 'PathNotFound'],
    ['GET', '/elsewhere', 404, 'PathNotFound'],
    ['POST', '/servers', 405, 'MethodNotAllowed'],
    ['DELETE', '/elsewhere', 405, 'MethodNotAllowed'],
    ['GET', `/servers?search=${'a'.repeat(9000)}`, 414, 'UrlTooLong'],
    ['GET', `/${'a'.repeat(9000)}`, 414, 'UrlTooLong'],
    ['POST', '/publish', 501, 'ReadOnly'],
    ['PUT', `${alpha}/versions/1.1.0`, 501, 'ReadOnly'],
    ['DELETE', `${alpha}/versions/1.1.0`, 501, 'ReadOnly'],
    ['PATCH', `${alpha}/versions/1.1.0/status`, 501, 'ReadOnly'],
    ['PATCH', `/servers/${NAME}.alpha/status`, 501, 'ReadOnly'],
  ])('%s %s is %i, %s', async (method, path, status, code) => {
    const answer = await app.request(`${base}${path}`, { method })
    expect(answer.status).toBe(status)
    expectCors(answer)
    expect(answer.headers.get('content-type')).toContain('application/json')
    expect(problem.parse(await answer.json())).toMatchObject({ status, code })
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, OPTIONS' : null)
  })

  test('a cursor with other parameters than its own is 400', async () => {
    const { nextCursor } = (await getList(`${base}/servers?limit=1&search=server`)).metadata
    for (const other of ['search=other', 'version=latest', 'include_deleted=true']) {
      const answer = await app.request(`${base}/servers?limit=1&cursor=${nextCursor}&${other}`)
      expect(problem.parse(await answer.json())).toMatchObject({ status: 400, code: 'CursorMismatch' })
    }
    await getList(`${base}/servers?limit=7&cursor=${nextCursor}&search=server`)
  })

  test.each(['/servers/', '/servers//', `${alpha}/versions/`, `${alpha}/versions/latest/`])(
    '%s leads to the same without a slash at its end',
    async (path) => {
      const answer = await app.request(`${base}${path}?limit=1&search=%2F`)
      expect(answer.status).toBe(308)
      expectCors(answer)
      const to = answer.headers.get('location') ?? ''
      expect(to).toBe(`${base}${path.replace(/\/+$/, '')}?limit=1&search=%2F`)
      expect((await app.request(to)).status).toBe(200)
    },
  )

  test('preflights are answered wherever they go', async () => {
    for (const path of ['/servers', `${alpha}/versions/latest`, '/elsewhere']) {
      const headers = { Origin: 'vscode-file://vscode-app', 'Access-Control-Request-Method': 'GET' }
      const answer = await app.request(`${base}${path}`, { method: 'OPTIONS', headers })
      expect(answer.status).toBe(204)
      expectCors(answer)
    }
  })
})

const PATHS = [
  '/v0.1/servers',
  `/v0.1/servers/${encodeURIComponent(`${NAME}.alpha`)}/versions`,
  `/v0.1/servers/${encodeURIComponent(`${NAME}.alpha`)}/versions/latest`,
  '/registry/one/registry.json',
]

describe.each(PATHS)('what is kept of %s', (path) => {
  const tagOf = async (): Promise<string> => (await app.request(path)).headers.get('etag') ?? ''

  test('a tag and a time', async () => {
    const answer = await app.request(path)
    expect(answer.headers.get('etag')).toMatch(/^"[!#-~]+"$/)
    expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=30\b/)
    expect((await app.request(path)).headers.get('etag')).toBe(answer.headers.get('etag'))
  })

  test.each([
    ['as it was', (tag: string) => tag],
    ['made weak', (tag: string) => `W/${tag}`],
    ['in a list', (tag: string) => `"other", W/"more",${tag} , "last"`],
    ['any', () => '*'],
    ['of the compressed form', (tag: string) => tag.replace(/"$/, '-gz"')],
    ['of the compressed form, made weak', (tag: string) => `W/${tag.replace(/"$/, '-gz"')}`],
  ])('who has it, %s, gets no body', async (_, known) => {
    const answer = await app.request(path, { headers: { 'If-None-Match': known(await tagOf()) } })
    expect(answer.status).toBe(304)
    expect(await answer.text()).toBe('')
    expectCors(answer)
    expect(answer.headers.get('etag')).not.toBeNull()
    expect(answer.headers.get('cache-control')).not.toBeNull()
  })

  test.each(['"other"', '', ',', 'W/', '"', '"-gz"'])('who has %j gets all of it', async (known) => {
    expect((await app.request(path, { headers: { 'If-None-Match': known } })).status).toBe(200)
  })

  test('HEAD has the headers and no body', async () => {
    const [get, head] = [await app.request(path), await app.request(path, { method: 'HEAD' })]
    expect(head.status).toBe(200)
    expect([...head.headers]).toEqual([...get.headers])
    expect(await head.text()).toBe('')
    const headers = { 'If-None-Match': await tagOf() }
    expect((await app.request(path, { method: 'HEAD', headers })).status).toBe(304)
  })
})

test.each(['/elsewhere', '/v0.1/servers?limit=0', '/v0.1/servers/a%2Fb/versions', '/healthz', '/v0.1/servers/'])(
  'HEAD %s has the status and the headers of GET',
  async (path) => {
    const [get, head] = [await app.request(path), await app.request(path, { method: 'HEAD' })]
    expect(head.status).toBe(get.status)
    expect([...head.headers]).toEqual([...get.headers])
    expect(await head.text()).toBe('')
  },
)

describe('compression', () => {
  const [path = ''] = PATHS
  const ask = (encoding: string, headers: Record<string, string> = {}) =>
    compressing.request(path, { headers: { 'Accept-Encoding': encoding, ...headers } })

  test.each(['gzip', 'br, gzip, deflate', 'GZIP', 'gzip;q=0.5, br;q=0', 'gzip; q=0.001'])(
    '%s gets it',
    async (encoding) => {
      const [small, plain] = [await ask(encoding), await ask('')]
      expect(small.headers.get('content-encoding')).toBe('gzip')
      expect(small.headers.get('vary')).toBe('Accept-Encoding')
      expect(plain.headers.get('vary')).toBe('Accept-Encoding')
      expect(plain.headers.get('content-encoding')).toBeNull()
      expect(small.headers.get('etag')).toBe(plain.headers.get('etag')?.replace(/"$/, '-gz"'))
      const bytes = new Uint8Array(await plain.arrayBuffer())
      expect(new Uint8Array(gunzipSync(await small.arrayBuffer()))).toEqual(bytes)
      expect(new Uint8Array(await (await app.request(path)).arrayBuffer())).toEqual(bytes)
    },
  )

  test.each(['', 'identity', 'br', 'gzip;q=0', 'br, gzip; q=0.000', 'notgzip', '*;q=0'])(
    '%j does not',
    async (encoding) => {
      expect((await ask(encoding)).headers.get('content-encoding')).toBeNull()
    },
  )

  test('what is small stays as it is', async () => {
    const answer = await compressing.request('/v0.1/servers?search=nobody', { headers: { 'Accept-Encoding': 'gzip' } })
    expect(answer.headers.get('content-encoding')).toBeNull()
    expect(await answer.json()).toEqual({ servers: [], metadata: { count: 0 } })
  })

  test('who has the compressed form is told of that form, or a cache would not know which of its two is meant', async () => {
    const tag = (await ask('gzip')).headers.get('etag') ?? ''
    const answer = await ask('gzip', { 'If-None-Match': tag })
    expect(answer.status).toBe(304)
    expect(answer.headers.get('etag')).toBe(tag)
    expect(answer.headers.get('vary')).toBe('Accept-Encoding')
    const plain = (await ask('')).headers.get('etag') ?? ''
    expect((await ask('', { 'If-None-Match': plain })).headers.get('etag')).toBe(plain)
  })

  test('HEAD has the headers of the compressed form', async () => {
    const headers = { 'Accept-Encoding': 'gzip' }
    const [get, head] = [await ask('gzip'), await compressing.request(path, { method: 'HEAD', headers })]
    expect([...head.headers]).toEqual([...get.headers])
    expect(await head.text()).toBe('')
  })
})

test('an entry keeps its tag while others change, a list does not', async () => {
  const other = openMemoryStore()
  const changing = openPublishing(other)
  await changing.sync(0, [server('a'), server('b')])
  const reading = createApi(createReader(other, clockAt(changing.now)))
  const tags = async () => {
    const paths = ['/v0.1/servers', `/v0.1/servers/${encodeURIComponent(`${NAME}.a`)}/versions/latest`]
    return Promise.all(paths.map(async (path) => (await reading.request(path)).headers.get('etag')))
  }
  const [list, one] = await tags()
  await changing.sync(HOUR, [server('a'), server('b', withVersion('2.0.0'))])
  const [newList, sameOne] = await tags()
  expect(newList).not.toBe(list)
  expect(sameOne).toBe(one)
})

describe('around the registry', () => {
  test('the first registry has no name, each has its own', async () => {
    expect(namesIn(await getList('/registry/two/v0.1/servers'))).toEqual(['other 1.0.0'])
    for (const path of ['/registry/three/v0.1/servers', '/registry/three/registry.json', '/v1/registries/three']) {
      const answer = await app.request(path)
      expectCors(answer)
      expect(problem.parse(await answer.json())).toMatchObject({ status: 404, code: 'RegistryNotFound' })
    }
  })

  test('registry.json has the server.json of every latest active entry, and parses', async () => {
    const answer = await app.request('/registry/one/registry.json')
    expect(answer.headers.get('content-type')).toContain('application/json')
    expectCors(answer)
    const file = JSON.parse(await answer.text())
    expect(file).toEqual({
      $schema: expect.stringMatching(/upstream-registry\.schema\.json$/),
      version: '1.0.0',
      meta: { last_updated: new Date(at(HOUR)).toISOString() },
      data: { servers: (await getList('/v0.1/servers?version=latest')).servers.map((each) => each.server) },
    })
    for (const each of file.data.servers) serverJson.parse(each)
  })

  test('registry.json of a registry without servers is whole', async () => {
    const empty = openPublishing(openMemoryStore())
    await empty.sync(0, [])
    const file = await (await empty.request('/registry/default/registry.json')).json()
    expect(file).toMatchObject({ data: { servers: [] }, meta: { last_updated: expect.any(String) } })
  })

  test('registries and sources say how they stand', async () => {
    const registry = (name: string, servers: number) =>
      expect.objectContaining({ name, servers, status: 'fresh', served: true, synced: 0 })
    const answer = await app.request('/v1/registries')
    expectCors(answer)
    expect(await answer.json()).toEqual({ registries: [registry('one', 5), registry('two', 1)] })
    expect(await (await app.request('/v1/registries/two')).json()).toEqual(registry('two', 1))
    const source = { fresh: true, observedAt: new Date(at(HOUR)).toISOString(), attempts: 0 }
    expect(await (await app.request('/v1/sources')).json()).toEqual({
      sources: [
        { ...source, registry: 'one', name: 'a', servers: 5 },
        { ...source, registry: 'two', name: 'b', servers: 1 },
      ],
    })
  })

  test('it is well, it is ready, and it says what it is', async () => {
    expect(await (await app.request('/healthz')).json()).toEqual({ status: 'healthy' })
    expect(await (await app.request('/readyz')).json()).toMatchObject({ status: 'fresh', registries: [{}, {}] })
    expect(await (await app.request('/version')).json()).toEqual({ version: '1.2.3' })
    for (const path of ['/healthz', '/readyz', '/version', '/v1/sources'])
      expect((await app.request(path)).headers.get('cache-control')).toBe('no-store')
  })
})

describe('when the store is away', () => {
  const open = () => {
    let fault: Fault | undefined
    let minutes = 60
    const reading = createReader(
      faulty(store, () => fault),
      clockAt(() => at(minutes)),
    )
    return {
      api: createApi(reading),
      fail: (after: number) => {
        fault = { kind: 'away' }
        minutes += after
      },
    }
  }

  test.each([...PATHS, '/v0/servers?limit=1', '/registry/three/v0.1/servers'])(
    'what was never read is 503 with a time to come back: %s',
    async (path) => {
      const { api, fail } = open()
      fail(0)
      const answer = await api.request(path)
      expectCors(answer)
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      expect(problem.parse(await answer.json())).toMatchObject({ status: 503, code: 'StoreUnavailable' })
      const ready = await api.request('/readyz')
      expect(ready.status).toBe(503)
      expect(await ready.json()).toMatchObject({ status: 'store-away', detail: expect.any(String) })
      expect((await api.request('/healthz')).status).toBe(200)
    },
  )

  test('what was read is served with its age, and what is not there stays 404', async () => {
    const { api, fail } = open()
    const before = await (await api.request('/v0.1/servers')).text()
    fail(10)
    await api.request('/v0.1/servers')
    const answer = await api.request('/v0.1/servers')
    expect(await answer.text()).toBe(before)
    expect(answer.headers.get('age')).toBe('600')
    expect((await api.request('/v0.1/servers/nobody%2Fhere/versions/latest')).status).toBe(404)
    expect((await api.request('/registry/three/v0.1/servers')).status).toBe(404)
    expect(await (await api.request('/readyz')).json()).toMatchObject({ status: 'store-away' })
  })

  test('before the first publication there is nothing to serve', async () => {
    const api = createApi(createReader(openMemoryStore(), clock))
    for (const path of ['/v0.1/servers', '/registry/one/registry.json'])
      expect(problem.parse(await (await api.request(path)).json())).toMatchObject({ status: 503 })
    expect((await api.request('/readyz')).status).toBe(503)
    expect(await (await api.request('/v1/registries')).json()).toEqual({ registries: [] })
    expect(await (await api.request('/v1/sources')).json()).toEqual({ sources: [] })
  })
})
