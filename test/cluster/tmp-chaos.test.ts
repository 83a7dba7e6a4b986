import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { renderKubeconfig } from './kube.ts'
import { openMiddle } from './middle.ts'
import { annotate, createGateway, createGatewayClass, createRoute, createServer, createService, GATEWAY, judgeRoute, rulesTo, takeGateway, TOOLHIVE, type Place } from './objects.ts'
import { startedCluster } from './started-cluster.ts'
import { described, pointerIn, published, seenWhile, whileWatching, reportIn } from './watching.ts'
import { createWaypost } from './waypost.ts'
const cluster = startedCluster()
const { admin } = cluster
const MCP = [TOOLHIVE, 'mcpservers'] as const
const ROUTES = [GATEWAY, 'httproutes'] as const
const ex = (p: Place, d = 'first') => ({ 'registry-export': 'true', 'registry-url': `https://${p.namespace}.example.com/${p.name}`, 'registry-description': d })
const pick = <T>(a: readonly T[]): T => a[Math.floor(Math.random() * a.length)] as T
const judgeAhead = async (route: Place, ...parents: readonly Place[]): Promise<void> => {
  const { metadata, status } = (await admin.get(...ROUTES, route)) as any
  const [{ conditions, ...judged }] = status.parents
  await admin.patchStatus(...ROUTES, route, { parents: parents.map((parent) => ({ ...judged, parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent }, conditions: conditions.map((c: any) => ({ ...c, observedGeneration: metadata.generation + 1 })) })) })
}
it('chaos of the network', async () => {
  const namespace = await cluster.namespaceFor(import.meta.url)
  const at = (name: string) => ({ namespace, name })
  const middle = await openMiddle(cluster)
  const labels = { suite: namespace }
  const waypost = createWaypost(renderKubeconfig({ server: middle.server, ca: cluster.ca }, { token: cluster.adminToken }), JSON.stringify({ sources: [{ name: 'cluster', kubernetes: { labelSelector: `suite=${namespace}` } }], watch: { lease: false, debounce: '50ms' }, discovery: { pendingGrace: '10m' } }))
  const host = `${namespace}.example.com`
  await createGatewayClass(admin, namespace)
  await createGateway(admin, at('g-0'), namespace); await takeGateway(admin, at('g-0'), `g0.${host}`)
  const server = await createServer(admin, at('routed'), { labels })
  await createService(admin, at('s-0'), server)
  await createRoute(admin, at('routed'), { parent: at('g-0'), backend: at('s-0'), path: '/mcp' }, { 'registry-export': 'true' })
  await judgeRoute(admin, at('routed'), 'True')
  await createServer(admin, at('steady'), { labels, annotations: ex(at('steady')) })
  const truth = new Map<string, string>()
  const calm = process.env.CALM === '1'
  await whileWatching(waypost, async (said) => {
    await expect.poll(() => published(waypost), { timeout: 10000 }).toHaveLength(2)
    let n = 0
    const bad: unknown[] = []
    const seen = await seenWhile(async () => { const d = await described(waypost); const ok = d !== undefined && 'routed' in d; if (!ok && bad.length < 3) bad.push([Date.now(), n, reportIn(waypost)?.findings.filter((f: any) => f.subject.kind === 'HTTPRoute' && f.subject.namespace === namespace).map((f: any) => [f.code, f.message])]); return [ok, d !== undefined && 'steady' in d] }, async () => {
      const end = Date.now() + 75_000
      while (Date.now() < end) {
        const what = calm ? 0.7 + Math.random() * 0.3 : Math.random()
        if (what < 0.1) middle.cut()
        else if (what < 0.3) middle.reopen()
        else if (what < 0.36) middle.hold(pick(['gateways', 'services', 'mcpservers', 'httproutes']))
        else if (what < 0.46) middle.release()
        else if (what < 0.55) middle.expire(pick(['gateways', 'services', 'mcpservers', 'httproutes']))
        else if (what < 0.6) middle.hang(pick(['limit=', 'watch=', '/apis']))
        else if (what < 0.7) middle.hang(undefined)
        else if (what < 0.85) {
          n++
          const g = at(`g-${n}`), s = at(`s-${n}`)
          await createGateway(admin, g, namespace); await takeGateway(admin, g, `g${n}.${host}`)
          await createService(admin, s, server)
          await judgeAhead(at('routed'), at(`g-${n - 1}`), g)
          await admin.patch(...ROUTES, at('routed'), { spec: { parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...g }], rules: rulesTo('/mcp', s) } })
          await admin.remove(GATEWAY, 'gateways', at(`g-${n - 1}`)); await admin.remove('v1', 'services', at(`s-${n - 1}`))
        } else {
          const name = `n${Math.floor(Math.random() * 4)}`
          if (truth.has(name) && Math.random() < 0.4) { await admin.remove(...MCP, at(name)); truth.delete(name) }
          else if (truth.has(name)) { truth.set(name, String(Math.random())); await annotate(admin, ...MCP, at(name), { 'registry-description': truth.get(name) ?? '' }) }
          else { truth.set(name, 'first'); await createServer(admin, at(name), { labels, annotations: ex(at(name)) }) }
        }
        await sleep(Math.random() * (calm ? 40 : 120))
      }
    })
    middle.reopen(); middle.release(); middle.hang(undefined)
    console.log(JSON.stringify(bad, null, 1))
    expect(seen).toEqual([[true, true]])
    const t = Date.now()
    await expect.poll(async () => { const { routed: _, steady: __, ...rest } = (await described(waypost)) ?? {}; return rest }, { timeout: 40000 }).toEqual(Object.fromEntries(truth))
    await expect.poll(async () => (await published(waypost))?.filter((u) => u.endsWith('/mcp')), { timeout: 40000 }).toEqual([`https://g${n}.${host}/mcp`])
    console.log('settled after', Date.now() - t, 'publications', pointerIn(waypost)?.sequence, 'moves', n)
    console.log(said.errors)
  })
  await middle.close()
}, 200000)
