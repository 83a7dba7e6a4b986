import { describe, expect, test } from 'vitest'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { createApi } from '../functions/api/api.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'
import { HOUR, openPublishing, server, servers } from './publishing.ts'

// What clients really send, and what they do with the answer. Each says where its contract was read; the versions are the
// ones that were read, and the ways of a client that look odd are the point.

type Entry = {
  readonly server: {
    readonly name: string
    readonly description: string
    readonly version: string
    readonly remotes?: readonly { readonly type: string; readonly url: string }[]
    readonly _meta: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, { metadata: unknown }>>>>>>
  }
  readonly _meta: Readonly<
    Record<string, { readonly status: string; readonly isLatest: boolean; readonly publishedAt: string }>
  >
}
type List = {
  readonly servers: readonly Entry[]
  readonly metadata: { readonly count: number; readonly nextCursor?: string }
}

const COUNT = 130
const PREFIX = 'dev.stacklok.toolhive/team.'
const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const store = openMemoryStore()
const publishing = openPublishing(store)
const cluster = servers(COUNT, 'server-')
await publishing.sync(0, [server('gone'), ...cluster])
await publishing.sync(HOUR, [
  ...cluster.slice(1),
  server('server-00', { annotations: { 'registry-version': '2.0.0+a' } }),
])
const app = createApi(createReader(store, clockAt(publishing.now)), { compresses: true })

const BASE = 'https://registry.example'
const fetchFrom = (url: string, headers: Record<string, string> = {}) => app.request(url, { headers })
const listOf = async (answer: Response): Promise<List> => JSON.parse(await answer.text())
const namesIn = ({ servers }: List): readonly string[] => servers.map((each) => each.server.name)

/** Go's url.PathEscape: all that may not stand in one segment, so a slash too, but none of `$&+=:@`. */
const pathEscape = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/%(24|26|2B|3D|3A|40)/g, (escaped) => decodeURIComponent(escaped))
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

// microsoft/vscode, mcpGalleryService.ts e24a16c3 and the manifest service 79c1f169.
describe('VS Code', () => {
  const page = async (query: string): Promise<{ names: readonly string[]; cursor: string | undefined }> => {
    const answer = await fetchFrom(`${BASE}/v0.1/servers?limit=50&version=latest${query}`, {
      Origin: 'vscode-file://vscode-app',
    })
    // It runs in the renderer: without this the answer cannot be read.
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.status).toBe(200)
    const list = await listOf(answer)
    for (const { server, _meta } of list.servers) {
      // A first entry without one of these rejects the whole page.
      for (const text of [server.name, server.description, server.version]) expect(text).toMatch(/./)
      // Both are dereferenced unguarded.
      const { [OFFICIAL]: official } = _meta
      expect(official).toMatchObject({ status: 'active', isLatest: true })
      expect(Number.isNaN(Date.parse(official?.publishedAt ?? ''))).toBe(false)
    }
    return { names: namesIn(list), cursor: list.metadata.nextCursor }
  }

  test('finds the version of the API by a list of one', async () => {
    expect((await fetchFrom(`${BASE}/v0.1/servers?limit=1`)).ok).toBe(true)
    expect((await fetchFrom(`${BASE}/v0/servers?limit=1`)).ok).toBe(true)
  })

  test('a base with a path serves as well', async () => {
    expect((await fetchFrom(`${BASE}/registry/default/v0.1/servers?limit=1`)).ok).toBe(true)
  })

  test('pages on with the cursor as it is', async () => {
    const met: string[] = []
    for (let cursor = ''; ; ) {
      const { names, cursor: next } = await page(cursor)
      met.push(...names)
      if (next === undefined) break
      cursor = `&cursor=${next}`
    }
    expect(met).toHaveLength(COUNT)
    expect(new Set(met).size).toBe(COUNT)
  })

  test('forgets the search on the second page, and goes on within it all the same', async () => {
    const first = await page(`&search=${encodeURIComponent('Server server-1')}`)
    expect(first.names).toHaveLength(40)
    const all = await listOf(await fetchFrom(`${BASE}/v0.1/servers?limit=15&version=latest&search=server-1`))
    const second = await page(`&cursor=${all.metadata.nextCursor}`)
    expect([...namesIn(all), ...second.names]).toEqual(first.names)
  })

  test('looks a server up by its name; one that is unknown or gone is 404', async () => {
    const lookUp = (name: string) => fetchFrom(`${BASE}/v0.1/servers/${encodeURIComponent(name)}/versions/latest`)
    const entry: Entry = JSON.parse(await (await lookUp(`${PREFIX}server-00`)).text())
    expect(entry.server.version).toBe('2.0.0+a')
    // A registry-only policy compares the URL of a remote server with this one.
    expect(entry.server.remotes?.[0]?.url).toBe('https://mcp.example.com/mcpserver/team/server-00')
    for (const name of ['io.github.nobody/nothing', `${PREFIX}gone`, 'no-slash', '', 'ünïcode/🦊', 'a/b/c'])
      expect((await lookUp(name)).status, name).toBe(404)
  })
})

// github/copilot-cli#3772, #4949, #4205; github/docs 44351fc1, "Configure an MCP registry".
describe('Copilot', () => {
  test('the CLI is told 200 or 404, for whatever is configured locally', async () => {
    const ask = async (name: string, version = 'latest'): Promise<number> => {
      const path = `/v0.1/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`
      return (await fetchFrom(`${BASE}${path}`, { Accept: 'application/json' })).status
    }
    expect(await ask(`${PREFIX}server-01`)).toBe(200)
    expect(await ask(`${PREFIX}server-00`, '2.0.0+a')).toBe(200)
    expect(await ask(`${PREFIX}server-00`, '1.0.0')).toBe(404)
    for (const name of [
      'github',
      'My Server',
      '@scope/pkg',
      'a/b/c',
      '../etc',
      '..',
      '%2F',
      '100%',
      'x?y#z',
      'é/è',
      'a\\b',
    ])
      expect(await ask(name), name).toBe(404)
  })

  test('it lists thirty at a time', async () => {
    const answer = await fetchFrom(`${BASE}/v0.1/servers?limit=30`, { Accept: 'application/json' })
    expect((await listOf(answer)).servers).toHaveLength(30)
  })

  test('all three endpoints have the headers that an organization must serve', async () => {
    const one = `${BASE}/v0.1/servers/${encodeURIComponent(`${PREFIX}server-01`)}/versions`
    for (const url of [`${BASE}/v0.1/servers`, `${one}/latest`, `${one}/1.0.0`]) {
      for (const method of ['GET', 'OPTIONS']) {
        const { headers, ok } = await app.request(url, { method })
        expect(ok).toBe(true)
        const listed = (name: string): readonly string[] => (headers.get(name) ?? '').split(', ')
        expect(headers.get('access-control-allow-origin')).toBe('*')
        expect(listed('access-control-allow-methods')).toEqual(expect.arrayContaining(['GET', 'OPTIONS']))
        expect(listed('access-control-allow-headers')).toEqual(
          expect.arrayContaining(['Authorization', 'Content-Type']),
        )
      }
    }
  })
})

// stacklok/toolhive e25de16: pkg/registry/api/client.go, provider_api.go, pkg/config/registry.go.
describe.each(['', '/registry/default'])('thv at the base %j', (path) => {
  const base = `${BASE}${path}`
  const get = (name: string) => fetchFrom(`${base}/v0.1/servers/${pathEscape(name)}/versions/latest`)

  test('knows a registry by its answer to a list of one', async () => {
    const answer = await fetchFrom(`${base}/v0.1/servers?limit=1&version=latest`)
    expect(answer.ok).toBe(true)
    expect(answer.headers.get('content-type')).toContain('application/json')
    const { servers, metadata } = await listOf(answer)
    expect(Array.isArray(servers)).toBe(true)
    expect(metadata).toBeTypeOf('object')
  })

  test.each([1, 100])('walks all pages of %i with the cursor encoded', async (limit) => {
    const met: string[] = []
    let cursor = ''
    do {
      // Go sorts the parameters.
      const query = new URLSearchParams({ ...(cursor !== '' && { cursor }), limit: String(limit), version: 'latest' })
      const list = await listOf(await fetchFrom(`${base}/v0.1/servers?${query}`))
      met.push(...namesIn(list))
      cursor = list.metadata.nextCursor ?? ''
    } while (cursor !== '')
    expect(met).toHaveLength(COUNT)
  })

  test('gets one by the name with its own prefix, then as given, then by a search', async () => {
    expect((await get('io.github.stacklok/server-07')).status).toBe(404)
    expect((await get('server-07')).status).toBe(404)
    const found = await listOf(await fetchFrom(`${base}/v0.1/servers?search=server-07&version=latest`))
    expect(namesIn(found)).toEqual([`${PREFIX}server-07`])
    const entry: Entry = JSON.parse(await (await get(`${PREFIX}server-07`)).text())
    expect(entry).toEqual(found.servers[0])
    expect(entry.server.remotes).toHaveLength(1)
  })

  test('finds no skills and no plugins, without an error', async () => {
    for (const kind of ['skills', 'plugins'])
      expect((await fetchFrom(`${base}/v0.1/x/dev.toolhive/${kind}`)).ok).toBe(true)
  })
})

// pkg/config/registry.go of the same: what ends in .json is one static file in the upstream format.
test('thv reads the whole registry as one file', async () => {
  const url = `${BASE}/registry/default/registry.json`
  expect(url).toMatch(/\.json$/)
  const file = JSON.parse(await (await fetchFrom(url)).text())
  expect(file).toMatchObject({ version: '1.0.0', meta: { last_updated: expect.stringMatching(/^\d{4}-.*Z$/) } })
  expect(file.data.servers).toHaveLength(COUNT)
  expect(new Set(file.data.servers.map((each: Entry['server']) => each.name)).size).toBe(COUNT)
})

// stacklok/toolhive-cloud-ui: src/app/catalog/actions.ts, [version]/actions.ts, src/lib/schemas/server-meta.ts.
describe('toolhive-cloud-ui', () => {
  test('takes the first registry, and pages through it', async () => {
    const { registries } = JSON.parse(await (await fetchFrom(`${BASE}/v1/registries`)).text())
    const base = `${BASE}/registry/${registries[0].name}/v0.1/servers`
    for (const limit of [12, 24, 48]) {
      const first = await listOf(await fetchFrom(`${base}?version=latest&limit=${limit}`))
      const query = new URLSearchParams({
        version: 'latest',
        cursor: first.metadata.nextCursor ?? '',
        limit: String(limit),
      })
      const second = await listOf(await fetchFrom(`${base}?${query}`))
      expect(new Set([...namesIn(first), ...namesIn(second)]).size).toBe(2 * limit)
    }
    const query = new URLSearchParams({ version: 'latest', limit: '12', search: 'SERVER-12' })
    const found = await listOf(await fetchFrom(`${base}?${query}`))
    expect(found.servers).toHaveLength(11)
    // Its schema fails the whole record where `metadata` has no kind in it.
    const provided = found.servers[0]?.server._meta['io.modelcontextprotocol.registry/publisher-provided']
    for (const extension of Object.values(provided?.['io.github.stacklok'] ?? {}))
      expect(extension.metadata).toMatchObject({ kubernetes: { kind: 'MCPServer' } })
  })

  test('opens one version, and shows that another is not there', async () => {
    const open = (name: string, version: string) =>
      fetchFrom(
        `${BASE}/registry/default/v0.1/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`,
      )
    expect((await open(`${PREFIX}server-00`, '2.0.0+a')).status).toBe(200)
    expect((await open(`${PREFIX}server-00`, '3.0.0')).status).toBe(404)
    const versions = await listOf(
      await fetchFrom(`${BASE}/registry/default/v0.1/servers/${encodeURIComponent(`${PREFIX}server-00`)}/versions`),
    )
    expect(versions.servers.map((each) => each.server.version)).toEqual(['2.0.0+a'])
  })
})

// docker/mcp-gateway 2bd20fe: /v0 only, and nothing but 200 will do.
test('the Docker MCP gateway lists and gets under /v0', async () => {
  const met: Entry[] = []
  let cursor = ''
  do {
    const answer = await fetchFrom(`${BASE}/v0/servers?version=latest&limit=100${cursor}`)
    expect(answer.status).toBe(200)
    const { servers, metadata } = await listOf(answer)
    met.push(...servers)
    cursor = metadata.nextCursor === undefined ? '' : `&cursor=${encodeURIComponent(metadata.nextCursor)}`
  } while (cursor !== '')
  expect(met).toHaveLength(COUNT)
  for (const { server } of met.slice(0, 5))
    for (const version of [server.version, 'latest'])
      expect(
        (await fetchFrom(`${BASE}/v0/servers/${pathEscape(server.name)}/versions/${pathEscape(version)}`)).status,
      ).toBe(200)
})

// microsoft/apm 3aa0365: v0.1 only, a cache on disk that is asked for again by its ETag, names by an allowlist, 10 MiB.
test('Microsoft APM keeps answers by their tags, until there is something new', async () => {
  const own = openPublishing(openMemoryStore())
  await own.sync(0, servers(100))
  const api = createApi(createReader(own.store, clockAt(own.now)), { compresses: true })
  const kept = new Map<string, { readonly tag: string; readonly body: string }>()
  const ask = async (path: string): Promise<{ status: number; body: string }> => {
    const known = kept.get(path)
    const headers = known && { 'If-None-Match': known.tag }
    const answer = await api.request(`${BASE}${path}`, headers && { headers })
    if (answer.status === 304) return { status: 304, body: known?.body ?? '' }
    const body = await answer.text()
    kept.set(path, { tag: answer.headers.get('etag') ?? '', body })
    return { status: answer.status, body }
  }
  const list = '/v0.1/servers?limit=100&version=latest'
  const one = `/v0.1/servers/${encodeURIComponent(`${PREFIX}s00`)}/versions/latest`
  const first = await ask(list)
  expect(first.status).toBe(200)
  expect(first.body.length).toBeLessThan(10 * 1024 * 1024)
  for (const name of namesIn(JSON.parse(first.body))) expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
  expect(JSON.parse((await ask(one)).body)).toHaveProperty('server.name')
  expect(await ask(list)).toEqual({ status: 304, body: first.body })
  expect((await ask(one)).status).toBe(304)
  await own.sync(HOUR, servers(99))
  expect(JSON.parse((await ask(list)).body).metadata.count).toBe(99)
  expect((await ask(one)).status).toBe(304)
})

// stacklok/toolhive-registry-server 1.5.1 with us as its `api` source: all pages, a full replacement each time.
test("ToolHive's registry server takes everything, each server once", async () => {
  const met = new Map<string, Entry>()
  let cursor = ''
  let pages = 0
  do {
    const query = new URLSearchParams({ ...(cursor !== '' && { cursor }), limit: '100' })
    const { servers, metadata } = await listOf(
      await fetchFrom(`${BASE}/v0.1/servers?${query}`, { Accept: 'application/json' }),
    )
    for (const entry of servers) {
      const key = `${entry.server.name} ${entry.server.version}`
      expect(met.has(key)).toBe(false)
      met.set(key, entry)
    }
    cursor = metadata.nextCursor ?? ''
    pages++
  } while (cursor !== '' && pages < 1000)
  expect(met.size).toBe(COUNT)
  expect(pages).toBe(2)
  // Times are read as RFC 3339; one that is none would break the page.
  for (const { _meta } of met.values())
    expect(_meta[OFFICIAL]?.publishedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})
