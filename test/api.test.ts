import { expect, test } from 'vitest'
import { parseManifests } from '../adapters/cluster/manifests.ts'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { createApi } from '../functions/api/api.ts'
import { compileManifests } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'
import { publishCompilation } from '../functions/publication/publish-compilation.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'

const manifest = (name: string): string => `
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPServer
metadata:
  name: ${name}
  namespace: team
  annotations:
    toolhive.stacklok.dev/registry-export: "true"
    toolhive.stacklok.dev/registry-url: https://mcp.example.com/${name}
    toolhive.stacklok.dev/registry-description: Server ${name}
    toolhive.stacklok.dev/registry-version: 1.0.0+build
---`

const serve = async (config: string, ...names: readonly string[]) => {
  const parsed = parseConfig(config)
  if (parsed.kind === 'bad') throw new Error('bad configuration')
  const compilation = compileManifests(
    parsed.config,
    { root: '.', documents: parseManifests('a.yaml', names.map(manifest).join('\n')) },
    'manifests',
    0,
  )
  const store = openMemoryStore()
  await publishCompilation(store, parsed.config, compilation, 0)
  return createApi(
    createReader(
      store,
      clockAt(() => 0),
    ),
  )
}

const app = await serve(
  'sources: [{ name: a, kubernetes: {} }]\nregistries: [{ name: one, sources: [a] }, { name: two, sources: [a] }]',
  'beta',
  'alpha',
)

test('the list has every active entry with its official metadata, by name', async () => {
  const answer = await app.request('/v0.1/servers')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  const time = '1970-01-01T00:00:00.000Z'
  const official = { status: 'active', isLatest: true, publishedAt: time, updatedAt: time, statusChangedAt: time }
  const entry = (name: string) => ({
    server: expect.objectContaining({ name: `dev.stacklok.toolhive/team.${name}` }),
    _meta: { 'io.modelcontextprotocol.registry/official': official },
  })
  expect(await answer.json()).toEqual({ servers: [entry('alpha'), entry('beta')], metadata: { count: 2 } })
})

test.each(['latest', '1.0.0%2Bbuild', '1.0.0+build'])('one version is served for %s', async (version) => {
  const answer = await app.request(`/v0.1/servers/dev.stacklok.toolhive%2Fteam.alpha/versions/${version}`)
  expect(await answer.json()).toMatchObject({
    server: { name: 'dev.stacklok.toolhive/team.alpha', version: '1.0.0+build' },
  })
})

test('the versions of a server are a list', async () => {
  const answer = await app.request('/v0.1/servers/dev.stacklok.toolhive%2Fteam.beta/versions')
  expect(await answer.json()).toMatchObject({
    servers: [{ server: { name: 'dev.stacklok.toolhive/team.beta' } }],
    metadata: { count: 1 },
  })
})

test('each registry has its own address', async () => {
  for (const name of ['one', 'two']) expect((await app.request(`/registry/${name}/v0.1/servers`)).status).toBe(200)
})

test.each([
  '/v0.1/servers/nobody%2Fhere/versions',
  '/v0.1/servers/nobody%2Fhere/versions/latest',
  '/v0.1/servers/dev.stacklok.toolhive%2Fteam.alpha/versions/9.9.9',
  '/registry/three/v0.1/servers',
  '/elsewhere',
])('%s is 404 with a body', async (path) => {
  const answer = await app.request(path)
  expect(answer.status).toBe(404)
  expect(await answer.json()).toEqual({
    title: 'Not Found',
    status: 404,
    detail: expect.any(String),
    error: expect.any(String),
    code: expect.any(String),
  })
})

test('a registry without servers is an empty list', async () => {
  expect(await (await (await serve('')).request('/v0.1/servers')).json()).toEqual({
    servers: [],
    metadata: { count: 0 },
  })
})

test('it says that it is well', async () => {
  expect(await (await app.request('/healthz')).json()).toEqual({ status: 'healthy' })
})
