import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../adapters/cluster/connect.ts'
import type { Connection } from '../../adapters/cluster/kube-fetch.ts'
import { openCluster } from '../../adapters/cluster/open-cluster.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import type { ClusterQuestion } from '../../core/ports.ts'
import { type Admin, openAdmin } from './admin.ts'
import { advisedRules, grant, shippedRules, without } from './granted.ts'
import { installCrds } from './install-crds.ts'
import { type Kube, renderKubeconfig, startKube } from './kube.ts'
import {
  annotations,
  createGateway,
  createGatewayClass,
  createServer,
  exposeServer,
  type Place,
  TOOLHIVE,
  takeGateway,
} from './objects.ts'
import { createRelay } from './relay.ts'
import { startedCluster } from './started-cluster.ts'
import { listedUrls, pointerOf, syncOnce } from './synced.ts'
import { createWaypost } from './waypost.ts'

// The sequences of the publication that a cluster decides, and lists that are longer than a page. The numbers are those
// of test/sequences.test.ts.

const cluster = startedCluster()
const DAY = 24 * 60 * 60 * 1_000
const IMPATIENT = { requestMs: 10_000, attempts: 2, firstPauseMs: 10, longestPauseMs: 10 }

/** A server of this file alone, which may lose kinds. It forgets what was after a second, not after minutes. */
let own: Kube
let admin: Admin
beforeAll(async () => {
  own = await startKube({ arguments: ['--etcd-compaction-interval=1s'] })
  admin = openAdmin(own, { token: own.adminToken })
  await installCrds(admin)
})
afterAll(() => own?.stop())

const createNamespace = (name: string): Promise<unknown> =>
  admin.create('v1', 'namespaces', { kind: 'Namespace', metadata: { name } })

const exported = (url: string) => ({
  annotations: { 'registry-export': 'true', 'registry-url': url, 'registry-description': 'A server' },
})

describe('two clusters in one registry (15)', () => {
  it('share a name by the suffix of the second, and one that cannot be read for a day changes nothing', async () => {
    const namespace = await cluster.namespaceFor(import.meta.url)
    await createNamespace(namespace)
    const place = { namespace, name: 'github' }
    await createServer(admin, place, exported('https://eu.example.com/github'))
    await createServer(cluster.admin, place, exported('https://us.example.com/github'))

    const relay = await createRelay(own.server)
    const clusters = { eu: { ...own, server: relay.server }, us: cluster }
    const kubeconfig = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: Object.entries(clusters).map(([name, { server, ca }]) => {
        return { name, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }
      }),
      users: Object.entries(clusters).map(([name, { adminToken }]) => ({ name, user: { token: adminToken } })),
      contexts: Object.keys(clusters).map((name) => ({ name, context: { cluster: name, user: name } })),
    })
    const sources = Object.keys(clusters).map((name) => {
      return { name, kubernetes: { context: name, namespaces: [namespace] } }
    })
    const waypost = createWaypost(kubeconfig, JSON.stringify({ sources }), { limits: IMPATIENT })
    const listed = async () =>
      (await waypost.entries()).map(({ server }) => [server.name.split('.').at(-1), server.remotes?.[0]?.url])
    const at = (days: number): string => new Date(Date.now() + days * DAY).toISOString()

    expect((await syncOnce(waypost)).exit).toBe(0)
    const eu = ['github', 'https://eu.example.com/github']
    expect(await listed()).toEqual([eu, ['github-us', 'https://us.example.com/github']])

    await relay.shut()
    const pointer = pointerOf(waypost)
    for (const time of [at(0), at(1)]) {
      const { exit, sources: reports } = await syncOnce(waypost, '--at', time)
      expect(exit).toBe(1)
      expect(reports.map(({ name, isFresh }) => [name, isFresh])).toEqual([
        ['eu', false],
        ['us', true],
      ])
      expect(pointerOf(waypost)).toBe(pointer)
    }
    // The other one goes on.
    await cluster.admin.patch(TOOLHIVE, 'mcpservers', place, {
      metadata: { annotations: annotations({ 'registry-url': 'https://us.example.com/moved' }) },
    })
    expect((await syncOnce(waypost, '--at', at(1.1))).exit).toBe(1)
    expect(await listed()).toEqual([eu, ['github-us', 'https://us.example.com/moved']])

    await relay.open()
    const back = await syncOnce(waypost, '--at', at(1.2))
    expect(back.exit).toBe(0)
    expect(back.action).toBe('keep')
    expect(await listed()).toEqual([eu, ['github-us', 'https://us.example.com/moved']])
    await relay.shut()
  })
})

describe('a role that loses HTTPRoute (28)', () => {
  it('fails its source, keeps the entries, and is told which rule it needs', async () => {
    const namespace = await cluster.namespaceFor(import.meta.url)
    const gateway = { namespace, name: 'gateway' }
    await createGatewayClass(cluster.admin, namespace)
    await createGateway(cluster.admin, gateway, namespace)
    await takeGateway(cluster.admin, gateway, 'lb.example.net')
    await exposeServer(cluster.admin, { namespace, name: 'routed' }, gateway)
    const rules = shippedRules('read-in-namespace')
    const account = { namespace, name: 'reader' }
    const token = await cluster.serviceAccountToken(namespace, account.name)
    const role = await grant(cluster.admin, account, rules, namespace)
    await grant(cluster.admin, account, shippedRules('read-gateway-classes'))
    const waypost = createWaypost(
      renderKubeconfig(cluster, { token }),
      JSON.stringify({ sources: [{ name: 'cluster', kubernetes: { namespaces: [namespace] } }] }),
    )
    const exitOf = async () => (await syncOnce(waypost)).exit
    await expect.poll(exitOf, { timeout: 10_000 }).toBe(0)
    expect(await listedUrls(waypost)).toEqual(['https://lb.example.net/routed'])

    const pointer = pointerOf(waypost)
    const lost = { group: 'gateway.networking.k8s.io', resource: 'httproutes' }
    await role.change(without(rules, lost))
    await expect.poll(exitOf, { timeout: 10_000 }).toBe(1)
    const { sources } = await syncOnce(waypost)
    expect(advisedRules(sources[0]?.problem ?? '')).toEqual([
      {
        rule: { apiGroups: [lost.group], resources: [lost.resource], verbs: ['get', 'list', 'watch'] },
        namespaces: [namespace],
      },
    ])
    expect(await listedUrls(waypost)).toEqual(['https://lb.example.net/routed'])
    expect(pointerOf(waypost)).toBe(pointer)

    await role.change(rules)
    await expect.poll(exitOf, { timeout: 10_000 }).toBe(0)
    expect(await listedUrls(waypost)).toEqual(['https://lb.example.net/routed'])
  })
})

const QUESTION: ClusterQuestion = {
  source: 'cluster',
  scope: { namespaces: [], labelSelector: [] },
  gatewayApi: false,
}

describe('a list of more than one page', () => {
  const ENTRIES = `/apis/${TOOLHIVE}/mcpserverentries`
  const namespace = 'pages'
  const nameOf = (index: number): string => `entry-${String(index).padStart(3, '0')}`
  const names = Array.from({ length: 520 }, (_, index) => nameOf(index))
  const create = (name: string): Promise<unknown> =>
    admin.create(TOOLHIVE, 'mcpserverentries', {
      kind: 'MCPServerEntry',
      metadata: {
        namespace,
        name,
        annotations: annotations({ 'registry-export': 'true', 'registry-description': 'An entry' }),
      },
      spec: {
        remoteUrl: `https://vendor.example.com/${name}`,
        transport: 'streamable-http',
        groupRef: { name: 'group' },
      },
    })
  const connection = (): Connection => connect({ kubeconfig: own.adminKubeconfig }, {})
  const namesIn = async (through: Connection): Promise<readonly string[]> => {
    const { snapshot } = await openCluster(through).read(QUESTION)
    return snapshot.resources
      .filter(({ kind, meta }) => kind === 'MCPServerEntry' && meta.namespace === namespace)
      .map(({ meta }) => meta.name)
      .sort()
  }

  /** Lets a later page be asked for only when the server has forgotten the first, as often as it is told to. */
  const slowed = (times: number, meanwhile: () => Promise<unknown> = async () => {}) => {
    const { fetch, ...rest } = connection()
    const asked: string[] = []
    let left = times
    const through: Connection = {
      ...rest,
      fetch: async (path, init) => {
        if (!path.startsWith(ENTRIES)) return fetch(path, init)
        asked.push(path.includes('continue=') ? 'next' : path.includes('limit=') ? 'first' : 'all')
        if (path.includes('continue=') && left-- > 0) {
          await meanwhile()
          await expect.poll(async () => (await admin.request('GET', path)).status, { timeout: 20_000 }).toBe(410)
        }
        return fetch(path, init)
      },
    }
    return { through, asked }
  }

  beforeAll(async () => {
    await createNamespace(namespace)
    await inParallel(names, create)
  })

  it('is read to the end and published whole', async () => {
    const { through, asked } = slowed(0)
    expect(await namesIn(through)).toEqual(names)
    expect(asked).toContain('next')
    const config = { sources: [{ name: 'cluster', kubernetes: { namespaces: [namespace] } }] }
    const waypost = createWaypost(renderKubeconfig(own, { token: own.adminToken }), JSON.stringify(config))
    expect(await syncOnce(waypost)).toMatchObject({ exit: 0, servers: names.length })
  })

  it('begins again where the server has forgotten it, and is of one moment', async () => {
    const { through, asked } = slowed(1, async () => {
      await admin.remove(TOOLHIVE, 'mcpserverentries', { namespace, name: nameOf(0) })
      await create('later')
    })
    const now = [...names.slice(1), 'later'].sort()
    expect(await namesIn(through)).toEqual(now)
    expect(asked.slice(0, 3)).toEqual(['first', 'next', 'first'])
    await create(nameOf(0))
    await admin.remove(TOOLHIVE, 'mcpserverentries', { namespace, name: 'later' })
  })

  it('is asked for in one piece by a reader that is always too slow', async () => {
    const { through, asked } = slowed(Number.POSITIVE_INFINITY)
    expect(await namesIn(through)).toEqual(names)
    expect(asked.slice(0, 2)).toEqual(['first', 'next'])
    expect(asked.at(-1)).toBe('all')
  })
})

describe('a kind that is uninstalled (27)', () => {
  const CRDS = 'customresourcedefinitions'
  const API = 'apiextensions.k8s.io/v1'

  it('fails its source and keeps the entries, until it is back', async () => {
    const name = 'mcpservers.toolhive.stacklok.dev'
    const crd = await admin.get(API, CRDS, { name })
    if (crd === undefined) throw new Error(`there is no ${name}`)
    const namespace = 'uninstalled'
    await createNamespace(namespace)
    const places: readonly Place[] = ['a', 'b', 'c'].map((name) => ({ namespace, name }))
    const build = (): Promise<unknown> =>
      Promise.all(places.map((place) => createServer(admin, place, exported(`https://mcp.example.com/${place.name}`))))
    await build()
    const waypost = createWaypost(
      renderKubeconfig(own, { token: own.adminToken }),
      JSON.stringify({ sources: [{ name: 'cluster', kubernetes: { namespaces: [namespace] } }] }),
    )
    expect((await syncOnce(waypost)).exit).toBe(0)
    const urls = await listedUrls(waypost)
    expect(urls).toHaveLength(places.length)

    const pointer = pointerOf(waypost)
    const failed = async (): Promise<void> => {
      const gone = await syncOnce(waypost)
      expect(gone.exit).toBe(1)
      expect(gone.sources[0]?.losses).toEqual(['cluster/MCPServer'])
      expect(await listedUrls(waypost)).toEqual(urls)
      expect(pointerOf(waypost)).toBe(pointer)
    }
    // First its objects go, and one that somebody holds keeps it halfway.
    const [held = { namespace, name: '' }] = places
    const hold = (finalizers: readonly string[]): Promise<unknown> =>
      admin.patch(TOOLHIVE, 'mcpservers', held, { metadata: { finalizers } })
    await hold(['example.com/hold'])
    await admin.remove(API, CRDS, { name })
    const left = async () => (await admin.list(TOOLHIVE, 'mcpservers', namespace)).length
    await expect.poll(left, { timeout: 20_000 }).toBe(1)
    await failed()
    await hold([])
    const served = async () => (await admin.request('GET', `/apis/${TOOLHIVE}`)).text.includes('"mcpservers"')
    await expect.poll(served, { timeout: 20_000 }).toBe(false)
    await failed()

    const { annotations: kept = {} } = crd.metadata
    await admin.create(API, CRDS, { kind: crd.kind, metadata: { name, annotations: kept }, spec: crd.spec })
    const isBack = async () =>
      (await served()) && (await admin.request('GET', `/apis/${TOOLHIVE}/mcpservers`)).status === 200
    await expect.poll(isBack, { timeout: 20_000 }).toBe(true)
    await build()
    const back = await syncOnce(waypost)
    expect(back.exit).toBe(0)
    expect(back.findings.map(({ code }) => code)).not.toContain('SourceStale')
    expect(await listedUrls(waypost)).toEqual(urls)
  })

  it('fails a read that has begun', async () => {
    // One that goes, and one that somebody holds: the kind is halfway while it is listed.
    const metadata = { namespace: 'default', name: 'held', finalizers: ['example.com/hold'] }
    for (const each of [metadata, { namespace: 'default', name: 'free' }])
      await admin.create(TOOLHIVE, 'mcpremoteproxies', {
        kind: 'MCPRemoteProxy',
        metadata: each,
        spec: { remoteUrl: 'https://vendor.example.com/mcp' },
      })
    const { fetch, ...rest } = connect({ kubeconfig: own.adminKubeconfig }, {})
    const left = async () => (await admin.list(TOOLHIVE, 'mcpremoteproxies')).length
    const through: Connection = {
      ...rest,
      fetch: async (path, init) => {
        if (path.includes('/mcpremoteproxies')) {
          await admin.remove(API, CRDS, { name: 'mcpremoteproxies.toolhive.stacklok.dev' })
          await expect.poll(left, { timeout: 20_000 }).toBe(1)
        }
        return fetch(path, init)
      },
    }
    await expect(openCluster(through).read(QUESTION)).rejects.toMatchObject({ code: 'ClusterChanged' })
  })
})
