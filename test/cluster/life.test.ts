import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { STAGES } from '../../adapters/cluster/kinds.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { MCP_KINDS, TOOLHIVE_GROUP } from '../../core/model/resource.ts'
import { ownCrds } from './install-crds.ts'
import { renderKubeconfig } from './kube.ts'
import {
  annotate,
  annotations,
  createGateway,
  createGatewayClass,
  createRoute,
  createServer,
  createService,
  exposeServer,
  GATEWAY,
  grantServices,
  judgeRoute,
  type Place,
  rulesTo,
  TOOLHIVE,
  takeGateway,
} from './objects.ts'
import { startedCluster } from './started-cluster.ts'
import { decisive, listedUrls, type Reported, syncOnce } from './synced.ts'
import { createWaypost } from './waypost.ts'

const cluster = startedCluster()
const { admin } = cluster
const kubeconfig = renderKubeconfig(cluster, { token: cluster.adminToken })
const newNamespace = (): Promise<string> => cluster.namespaceFor(import.meta.url)

/** At once: no grace for what is pending, and a team may take away all it has. */
const openWaypost = (kubernetes: object, pendingGrace = '0s') =>
  createWaypost(
    kubeconfig,
    JSON.stringify({
      sources: [{ name: 'cluster', kubernetes }],
      discovery: { pendingGrace },
      publish: { maxShrink: 1 },
    }),
  )

/** The same cluster twice: by lists of some namespaces, and by lists of all, where other tests are at work too. */
const bothSources = (namespaces: readonly string[]) => [openWaypost({ namespaces }), openWaypost({})]

type Manifest = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: object }
}

const OWN: readonly Manifest[] = [
  ['MCPServer', { image: 'registry.example.com/mcp', transport: 'stdio' }],
  ['MCPRemoteProxy', { remoteUrl: 'https://vendor.example.com/mcp' }],
  ['VirtualMCPServer', { groupRef: { name: 'group' }, incomingAuth: { type: 'anonymous' } }],
  ['MCPServerEntry', { remoteUrl: 'https://vendor.example.com/mcp', transport: 'sse', groupRef: { name: 'group' } }],
].map(([kind, spec]) => ({ apiVersion: TOOLHIVE, kind: String(kind), metadata: { name: 'own' }, spec }))

const READ = STAGES.flat().map(({ kind }): string => kind)
const PLURALS = new Map(ownCrds().map(({ spec }) => [spec.names.kind, spec.names.plural]))
const isMcp = ({ kind }: Manifest): boolean => MCP_KINDS.some((each) => each === kind)

/** Manifests of ToolHive by file, as they are, where they are at hand; else some of our own. */
const manifestFiles = (): readonly (readonly Manifest[])[] => {
  const folder = new URL('../../../shared/data/toolhive-examples', import.meta.url).pathname
  if (!existsSync(folder)) return [OWN]
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) =>
      [...parseAllDocuments(readFileSync(join(folder, file), 'utf8'))]
        .map((document): Manifest | null => document.toJS())
        .filter((manifest) => manifest !== null)
        .filter(({ apiVersion, kind }) => apiVersion.startsWith(`${TOOLHIVE_GROUP}/`) && READ.includes(kind)),
    )
    .filter((manifests) => manifests.some(isMcp))
}

describe('resources with the schemas of ToolHive', () => {
  it('are listed as they are, and every change of them shows after the next sync', async () => {
    // Files repeat names, so each has a namespace of its own.
    const files = await inParallel(manifestFiles(), async (manifests) => ({
      namespace: await newNamespace(),
      manifests,
    }))
    const all = files.flatMap(({ namespace, manifests }) =>
      manifests.map((manifest) => {
        const { apiVersion, kind, metadata } = manifest
        const place = { namespace, name: metadata.name }
        const url = `https://mcp.example.com/${namespace}/${kind}/${metadata.name}`
        return { apiVersion, kind, manifest, plural: PLURALS.get(kind) ?? '', place, url }
      }),
    )
    const resources = all.filter(({ manifest }) => isMcp(manifest))
    expect(resources.length).toBeGreaterThanOrEqual(OWN.length)
    await inParallel(all, async ({ manifest, plural, place, url }) => {
      const own = { 'registry-export': 'true', 'registry-url': url, 'registry-description': 'first' }
      const metadata = {
        ...manifest.metadata,
        namespace: place.namespace,
        ...(isMcp(manifest) && { annotations: { ...manifest.metadata.annotations, ...annotations(own) } }),
      }
      const path = `/apis/${manifest.apiVersion}/namespaces/${place.namespace}/${plural}`
      const { status, text } = await admin.request('POST', path, { ...manifest, metadata })
      // Some examples of MCPExternalAuthConfig are older than its schema; that they are not there is for the reader to bear.
      const isOld = manifest.kind === 'MCPExternalAuthConfig' && status === 422
      if (status !== 201 && !isOld) throw new Error(`${manifest.kind} ${place.name}: ${status} ${text}`)
    })

    const sources = bothSources(files.map(({ namespace }) => namespace))
    const listed = (description: string): Promise<unknown> =>
      Promise.all(
        sources.map(async (waypost) => {
          expect((await syncOnce(waypost)).exit).toBe(0)
          const entries = await waypost.entries('&search=/life-')
          return entries
            .filter(({ server }) => server.description === description)
            .flatMap(({ server }) => (server.remotes ?? []).map(({ url }) => url))
            .sort()
        }),
      )
    const urls = resources.map(({ url }) => url).sort()
    const change = (values: Readonly<Record<string, string | null>>): Promise<unknown> =>
      inParallel(resources, ({ apiVersion, plural, place }) => annotate(admin, apiVersion, plural, place, values))

    expect(await listed('first')).toEqual([urls, urls])
    await change({ 'registry-description': 'second' })
    expect(await listed('second')).toEqual([urls, urls])
    await change({ 'registry-export': null })
    expect(await listed('second')).toEqual([[], []])
    await change({ 'registry-export': 'true' })
    expect(await listed('second')).toEqual([urls, urls])
    await inParallel(resources, ({ apiVersion, plural, place }) => admin.remove(apiVersion, plural, place))
    expect(await listed('second')).toEqual([[], []])
  })
})

/** A team with a Gateway of its own; `name` is that of everything in it. */
const createTeam = async (name: string) => {
  const namespace = await newNamespace()
  const place = { namespace, name }
  await createGatewayClass(admin, namespace)
  await createService(admin, place, await createServer(admin, place))
  await createGateway(admin, place, namespace)
  await createRoute(admin, place, { parent: place, backend: place, path: '/first' })
  return place
}

describe('a route to a server', () => {
  it('is followed from the annotation to the URL, and every change on the way shows after the next sync', async () => {
    const place = await createTeam('search')
    const { namespace } = place
    const sources = bothSources([namespace])
    /** The URLs in both sources, or what is in the way. */
    const seen = (): Promise<readonly unknown[]> =>
      Promise.all(
        sources.map(async (waypost) => {
          const synced = await syncOnce(waypost)
          expect(synced.exit).toBe(0)
          const urls = await listedUrls(waypost, namespace)
          return urls.length > 0 ? urls : (decisive(synced, 'HTTPRoute', place) ?? 'not asked for')
        }),
      )
    const both = (what: unknown) => [what, what]
    const pending = (code: string) => both({ code, class: 'pending' })
    const annotateRoute = (value: string | null) =>
      annotate(admin, GATEWAY, 'httproutes', place, { 'registry-export': value })

    expect(await seen()).toEqual(both('not asked for'))
    await annotateRoute('true')
    expect(await seen()).toEqual(pending('RouteStatusMissing'))
    await judgeRoute(admin, place, 'True')
    expect(await seen()).toEqual(pending('GatewayNotAccepted'))
    await takeGateway(admin, place)
    expect(await seen()).toEqual(pending('GatewayAddressPending'))
    await takeGateway(admin, place, 'one.example.net')
    expect(await seen()).toEqual(both(['https://one.example.net/first']))
    await takeGateway(admin, place, 'two.example.net')
    expect(await seen()).toEqual(both(['https://two.example.net/first']))

    await admin.patch(GATEWAY, 'httproutes', place, { spec: { rules: rulesTo('/second', place) } })
    expect(await seen()).toEqual(pending('RouteStatusStale'))
    await judgeRoute(admin, place, 'Unknown')
    expect(await seen()).toEqual(pending('RouteNotAccepted'))
    await judgeRoute(admin, place, 'True')
    expect(await seen()).toEqual(both(['https://two.example.net/second']))
    await judgeRoute(admin, place, 'False')
    expect(await seen()).toEqual(both({ code: 'RouteNotAccepted', class: 'denied' }))
    await judgeRoute(admin, place, 'True')
    expect(await seen()).toEqual(both(['https://two.example.net/second']))

    await annotateRoute(null)
    expect(await seen()).toEqual(both('not asked for'))
    await annotateRoute('true')
    expect(await seen()).toEqual(both(['https://two.example.net/second']))
    await admin.remove(GATEWAY, 'gateways', place)
    expect(await seen()).toEqual(both({ code: 'GatewayNotFound', class: 'notFound' }))
    await createGateway(admin, place, namespace)
    await takeGateway(admin, place, 'three.example.net')
    expect(await seen()).toEqual(both(['https://three.example.net/second']))
    await admin.remove('v1', 'services', place)
    expect(await seen()).toEqual(both({ code: 'BackendNotFound', class: 'notFound' }))
    await admin.remove(TOOLHIVE, 'mcpservers', place)
    await createService(admin, place, await createServer(admin, place))
    expect(await seen()).toEqual(both(['https://three.example.net/second']))
    await admin.remove(GATEWAY, 'httproutes', place)
    expect(await seen()).toEqual(both('not asked for'))
  })

  it('leads nowhere when its server was made anew and the Service is still that of the old one', async () => {
    const place = await createTeam('anew')
    await annotate(admin, GATEWAY, 'httproutes', place, { 'registry-export': 'true' })
    await judgeRoute(admin, place, 'True')
    await takeGateway(admin, place, 'lb.example.net')
    const waypost = openWaypost({ namespaces: [place.namespace] })
    await syncOnce(waypost)
    expect(await listedUrls(waypost)).toEqual(['https://lb.example.net/first'])
    await admin.remove(TOOLHIVE, 'mcpservers', place)
    await createServer(admin, place)
    const synced = await syncOnce(waypost)
    expect(decisive(synced, 'HTTPRoute', place)).toEqual({ code: 'McpResourceNotFound', class: 'notFound' })
    expect(await listedUrls(waypost)).toEqual([])
  })

  it('keeps its URL for the grace while its Gateway has no address', async () => {
    const place = await createTeam('patient')
    await annotate(admin, GATEWAY, 'httproutes', place, { 'registry-export': 'true' })
    await judgeRoute(admin, place, 'True')
    await takeGateway(admin, place, 'lb.example.net')
    const waypost = openWaypost({ namespaces: [place.namespace] }, '10m')
    await syncOnce(waypost)
    await takeGateway(admin, place)
    const { findings } = await syncOnce(waypost)
    expect(findings.map(({ code }) => code)).toContain('PendingGrace')
    expect(await listedUrls(waypost)).toEqual(['https://lb.example.net/first'])
    await annotate(admin, GATEWAY, 'httproutes', place, { 'registry-export': null })
    await syncOnce(waypost)
    expect(await listedUrls(waypost)).toEqual([])
  })
})

describe('a source of some namespaces', () => {
  let [team, edge, shop, outside] = ['', '', '', '']
  let gateway: Place = { namespace: '', name: '' }
  const seenBy = async (waypost: ReturnType<typeof openWaypost>, route: Place): Promise<unknown> => {
    const synced = await syncOnce(waypost)
    expect(synced.exit).toBe(0)
    const own = (await listedUrls(waypost, team)).filter((url) => url.endsWith(`/${route.name}`))
    return own.length > 0 ? own : decisive(synced, 'HTTPRoute', route)?.code
  }

  beforeAll(async () => {
    ;[team = '', edge = '', shop = '', outside = ''] = await Promise.all([1, 2, 3, 4].map(newNamespace))
    await admin.patch('v1', 'namespaces', { name: team }, { metadata: { labels: { 'example.com/team': team } } })
    gateway = { namespace: edge, name: 'edge' }
    await createGatewayClass(admin, team)
    await createGateway(admin, gateway, team, team)
    await takeGateway(admin, gateway, 'edge.example.net')
  })

  it('follows its routes to a Gateway of another namespace', async () => {
    const place = { namespace: team, name: 'through' }
    await exposeServer(admin, place, gateway)
    const waypost = openWaypost({ namespaces: [team] })
    expect(await seenBy(waypost, place)).toEqual(['https://edge.example.net/through'])
    await admin.patch('v1', 'namespaces', { name: team }, { metadata: { labels: { 'example.com/team': 'other' } } })
    expect(await seenBy(waypost, place)).toBe('NamespaceNotAllowed')
    await admin.patch('v1', 'namespaces', { name: team }, { metadata: { labels: { 'example.com/team': team } } })
    expect(await seenBy(waypost, place)).toEqual(['https://edge.example.net/through'])
  })

  it('says that a Gateway of another namespace is not there, when it is not', async () => {
    const place = { namespace: team, name: 'nowhere' }
    await exposeServer(admin, place, { namespace: edge, name: 'none' })
    const elsewhere = { namespace: team, name: 'no-such-namespace' }
    await exposeServer(admin, elsewhere, { namespace: `${edge}-none`, name: 'edge' })
    const waypost = openWaypost({ namespaces: [team] })
    expect(await seenBy(waypost, place)).toBe('GatewayNotFound')
    expect(await seenBy(waypost, elsewhere)).toBe('GatewayNotFound')
  })

  it('follows its routes to a Service of another namespace, where a grant there allows it', async () => {
    const [place, backend] = [
      { namespace: team, name: 'far' },
      { namespace: shop, name: 'far' },
    ]
    await createRoute(admin, place, { parent: gateway, backend, path: '/far' }, { 'registry-export': 'true' })
    await judgeRoute(admin, place, 'True')
    const waypost = openWaypost({ namespaces: [team] })
    const wider = openWaypost({ namespaces: [team, shop] })
    const everywhere = openWaypost({})
    const seen = () => Promise.all([waypost, wider, everywhere].map((each) => seenBy(each, place)))

    expect(await seen()).toEqual(Array(3).fill('BackendRefNotPermitted'))
    await grantServices(admin, { namespace: shop, name: 'grant' }, team)
    expect(await seen()).toEqual(Array(3).fill('BackendNotFound'))
    await createService(admin, backend)
    expect(await seen()).toEqual(Array(3).fill('NoMcpBackend'))
    const { uid } = (await createServer(admin, backend)).metadata
    await admin.patch('v1', 'services', backend, {
      metadata: { ownerReferences: [{ apiVersion: TOOLHIVE, kind: 'MCPServer', name: 'far', uid, controller: true }] },
    })
    // Whose it is was not read: that is not the same as missing.
    expect(await seenBy(waypost, place)).toBe('BackendUnreadable')
    for (const each of [wider, everywhere]) {
      expect((await syncOnce(each)).exit).toBe(0)
      expect(await listedUrls(each, `${shop}.far`)).toEqual(['https://edge.example.net/far'])
    }
    await admin.remove(GATEWAY, 'referencegrants', { namespace: shop, name: 'grant' })
    expect(await seen()).toEqual(Array(3).fill('BackendRefNotPermitted'))
  })

  it('does not read a route of another namespace, though it leads to its own server', async () => {
    const backend = { namespace: team, name: 'asked-from-outside' }
    const place = { namespace: outside, name: 'asked-from-outside' }
    await createService(admin, backend, await createServer(admin, backend))
    await grantServices(admin, { namespace: team, name: 'grant' }, outside)
    const open = { namespace: outside, name: 'open' }
    await createGateway(admin, open, team)
    await takeGateway(admin, open, 'open.example.net')
    const path = '/asked-from-outside'
    await createRoute(admin, place, { parent: open, backend, path }, { 'registry-export': 'true' })
    await judgeRoute(admin, place, 'True')
    const waypost = openWaypost({ namespaces: [team] })
    expect(await seenBy(waypost, place)).toBeUndefined()
    expect((await waypost.run('explain', `HTTPRoute/${outside}/${place.name}`)).code).toBe(1)
    expect(await seenBy(openWaypost({}), place)).toEqual(['https://open.example.net/asked-from-outside'])
  })
})

describe('a source with a labelSelector', () => {
  it('takes only the resources that it selects, and reads all that leads to them', async () => {
    const place = await createTeam('labelled')
    const { namespace } = place
    await annotate(admin, GATEWAY, 'httproutes', place, { 'registry-export': 'true' })
    await judgeRoute(admin, place, 'True')
    await takeGateway(admin, place, 'lb.example.net')
    const direct = { namespace, name: 'direct' }
    const url = 'https://mcp.example.com/direct'
    const own = { 'registry-export': 'true', 'registry-url': url, 'registry-description': 'Direct' }
    await createServer(admin, direct, { annotations: own })
    const waypost = openWaypost({ namespaces: [namespace], labelSelector: 'example.com/listed=yes' })
    const label = (each: Place, value: string | null): Promise<unknown> =>
      admin.patch(TOOLHIVE, 'mcpservers', each, { metadata: { labels: { 'example.com/listed': value } } })
    const codes = async (): Promise<readonly string[]> => {
      const { output } = await waypost.run('compile', '--json')
      const { findings }: { findings: readonly Reported[] } = JSON.parse(output)
      return findings
        .filter(({ decisive }) => decisive)
        .map(({ code, subject }) => `${subject.kind}/${subject.name} ${code}`)
        .sort()
    }

    expect((await syncOnce(waypost)).exit).toBe(0)
    expect(await listedUrls(waypost)).toEqual([])
    expect(await codes()).toEqual([
      'HTTPRoute/labelled McpResourceNotSelected',
      'MCPServer/direct NotSelected',
      'MCPServer/labelled NotSelected',
    ])
    await label(place, 'yes')
    await syncOnce(waypost)
    expect(await listedUrls(waypost)).toEqual(['https://lb.example.net/first'])
    expect(await codes()).toEqual(['MCPServer/direct NotSelected'])
    await label(direct, 'yes')
    await label(place, null)
    await syncOnce(waypost)
    expect(await listedUrls(waypost)).toEqual([url])
  })
})
