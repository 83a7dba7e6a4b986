import { setTimeout as sleep } from 'node:timers/promises'
import { describe, type ExpectStatic, it } from 'vitest'
import { grant, shippedRules } from './granted.ts'
import { renderKubeconfig } from './kube.ts'
import { openMiddle } from './middle.ts'
import {
  annotate,
  createGateway,
  createGatewayClass,
  createRoute,
  createServer,
  createService,
  GATEWAY,
  judgeRoute,
  type Place,
  rulesTo,
  TOOLHIVE,
  takeGateway,
} from './objects.ts'
import { startedCluster } from './started-cluster.ts'
import { described, pointerIn, published, reportIn, SOON, seenWhile, whileWatching } from './watching.ts'
import { createWaypost } from './waypost.ts'

// What is changed in a cluster shows in the published registry, whatever happens on the way. Each test watches all
// namespaces and takes only what has its label: others use the same server.

const cluster = startedCluster()
const { admin } = cluster

type Config = { readonly namespaces?: readonly string[]; readonly labelSelector?: string; readonly debounce?: string }

const watcher = (config: Config, server = cluster.server, token = cluster.adminToken) => {
  const { debounce, ...kubernetes } = config
  const watch = { lease: false, ...(debounce !== undefined && { debounce }) }
  const sources = [{ name: 'cluster', kubernetes }]
  return createWaypost(
    renderKubeconfig({ server, ca: cluster.ca }, { token }),
    JSON.stringify({ sources, watch, discovery: { pendingGrace: '0s' } }),
  )
}

const places = async () => {
  const namespace = await cluster.namespaceFor(import.meta.url)
  const at = (name: string): Place => ({ namespace, name })
  const labels = { suite: namespace }
  return { namespace, at, labels, labelSelector: `suite=${namespace}` }
}

const exported = (place: Place, description = 'first') => ({
  'registry-export': 'true',
  'registry-url': `https://${place.namespace}.example.com/${place.name}`,
  'registry-description': description,
})

const MCP = [TOOLHIVE, 'mcpservers'] as const
const ROUTES = [GATEWAY, 'httproutes'] as const
const change = (place: Place, description: string) =>
  annotate(admin, ...MCP, place, { 'registry-description': description })

/** A server behind a Gateway, whose route is accepted and asks for nothing yet. */
const exposed = async ({ namespace, at, labels }: Awaited<ReturnType<typeof places>>, host: string) => {
  const [server, gateway] = [at('server'), at('gateway')]
  await createGatewayClass(admin, namespace)
  await createGateway(admin, gateway, namespace)
  await takeGateway(admin, gateway, host)
  await createService(admin, server, await createServer(admin, server, { labels }))
  await createRoute(admin, server, { parent: gateway, backend: server, path: '/mcp' })
  await judgeRoute(admin, server, 'True')
  return { server, gateway }
}

/**
 * The controller judges a route before it leads elsewhere: spec and status cannot be written together, and in between it
 * would rightly be unlisted.
 */
const judgeAhead = async (route: Place, ...parents: readonly Place[]): Promise<void> => {
  const { metadata, status } = (await admin.get(...ROUTES, route)) as unknown as {
    readonly metadata: { readonly generation: number }
    readonly status: { readonly parents: readonly [{ readonly conditions: readonly object[] }] }
  }
  const [{ conditions, ...judged }] = status.parents
  const observedGeneration = metadata.generation + 1
  await admin.patchStatus(...ROUTES, route, {
    parents: parents.map((parent) => ({
      ...judged,
      parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent },
      conditions: conditions.map((condition) => ({ ...condition, observedGeneration })),
    })),
  })
}

const whenPublished = (expect: ExpectStatic, waypost: ReturnType<typeof watcher>) =>
  expect.poll(() => pointerIn(waypost)?.sequence, SOON).toBeGreaterThan(0)

describe.concurrent('what shows within five seconds', () => {
  it('an MCPServer that is created, changed, un-annotated and deleted', async ({ expect }) => {
    const { at, labels, labelSelector } = await places()
    const waypost = watcher({ labelSelector })
    const { code, errors } = await whileWatching(waypost, async () => {
      const shows = (expected: object) => expect.poll(() => described(waypost), SOON).toEqual(expected)
      await shows({})
      await createServer(admin, at('one'), { labels, annotations: exported(at('one')) })
      await shows({ one: 'first' })
      await change(at('one'), 'second')
      await shows({ one: 'second' })
      await annotate(admin, ...MCP, at('one'), { 'registry-export': null })
      await shows({})
      await annotate(admin, ...MCP, at('one'), { 'registry-export': 'true' })
      await shows({ one: 'second' })
      await admin.remove(...MCP, at('one'))
      await shows({})
    })
    expect([code, errors]).toEqual([0, ''])
  })

  it('a route that is annotated, accepted, un-annotated and deleted, and its Gateway', async ({ expect }) => {
    const own = await places()
    const waypost = watcher({ labelSelector: own.labelSelector })
    const host = `${own.namespace}.example.com`
    const { server, gateway } = await exposed(own, host)
    const { code, errors } = await whileWatching(waypost, async () => {
      const shows = (...urls: readonly string[]) => expect.poll(() => published(waypost), SOON).toEqual(urls)
      const url = `https://${host}/mcp`
      await shows()
      await annotate(admin, ...ROUTES, server, { 'registry-export': 'true' })
      await shows(url)
      await judgeRoute(admin, server, 'False')
      await shows()
      await judgeRoute(admin, server, 'True')
      await shows(url)
      await takeGateway(admin, gateway)
      await shows()
      await takeGateway(admin, gateway, host)
      await shows(url)
      await takeGateway(admin, gateway, `other.${host}`)
      await shows(`https://other.${host}/mcp`)
      await annotate(admin, ...ROUTES, server, { 'registry-export': null })
      await shows()
      await annotate(admin, ...ROUTES, server, { 'registry-export': 'true' })
      await shows(`https://other.${host}/mcp`)
      await admin.remove(GATEWAY, 'gateways', gateway)
      await shows()
      await createGateway(admin, gateway, own.namespace)
      await takeGateway(admin, gateway, host)
      await shows(url)
      await admin.remove(...ROUTES, server)
      await shows()
    })
    expect([code, errors]).toEqual([0, ''])
  })

  it('what changes in the namespaces of a source that takes only some', async ({ expect }) => {
    const own = await places()
    const waypost = watcher({ namespaces: [own.namespace] })
    const host = `${own.namespace}.example.com`
    const { server, gateway } = await exposed(own, host)
    const { code, errors } = await whileWatching(waypost, async () => {
      const shows = (...urls: readonly string[]) => expect.poll(() => published(waypost), SOON).toEqual(urls)
      await shows()
      await annotate(admin, ...ROUTES, server, { 'registry-export': 'true' })
      await shows(`https://${host}/mcp`)
      await takeGateway(admin, gateway, `other.${host}`)
      await shows(`https://other.${host}/mcp`)
      await admin.remove(...MCP, server)
      await shows()
    })
    expect([code, errors]).toEqual([0, ''])
  })
})

describe.concurrent('many changes', () => {
  it('end in the right state, with far fewer publications', async ({ expect }) => {
    const { at, labels, labelSelector } = await places()
    const waypost = watcher({ labelSelector, debounce: '300ms' })
    const all = Array.from({ length: 40 }, (_, index) => at(`n${index}`))
    await whileWatching(waypost, async () => {
      await whenPublished(expect, waypost)
      // Spread over a few syncs, so that some come in the middle of one.
      for (const place of all) await createServer(admin, place, { labels, annotations: exported(place) })
      for (const place of all) await Promise.all([change(place, 'second'), sleep(30)])
      for (const place of all.slice(0, 10)) await admin.remove(...MCP, place)
      for (const place of all.slice(30)) await change(place, 'third')
      const expected = all.slice(10).map(({ name }, index) => [name, index < 20 ? 'second' : 'third'])
      await expect.poll(() => described(waypost), SOON).toEqual(Object.fromEntries(expected))
    })
    expect(pointerIn(waypost)?.sequence).toBeGreaterThan(1)
    expect(pointerIn(waypost)?.sequence).toBeLessThan(20)
  })

  it('of a status that nobody uses cause no sync at all', async ({ expect }) => {
    const { namespace, at } = await places()
    const waypost = watcher({ namespaces: [namespace], debounce: '50ms' })
    await createServer(admin, at('one'), { annotations: exported(at('one')) })
    await admin.patchStatus(...MCP, at('one'), { phase: 'Pending' })
    await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'first' })
      // The first lists of the watch ring as well.
      await sleep(1_000)
      const before = reportIn(waypost)
      for (const message of ['pulling', 'starting', 'running'])
        await admin.patchStatus(...MCP, at('one'), { message, url: 'http://one.svc:8080' })
      await sleep(1_000)
      expect(reportIn(waypost)).toEqual(before)
      await admin.patchStatus(...MCP, at('one'), { phase: 'Ready' })
      await expect.poll(() => reportIn(waypost)?.at, SOON).not.toBe(before?.at)
    })
  })
})

describe.concurrent('whatever happens on the way', () => {
  it('who may list and not watch is told once what to add, and goes on', async ({ expect }) => {
    const { namespace, at } = await places()
    await createServer(admin, at('one'), { annotations: exported(at('one')) })
    const token = await cluster.serviceAccountToken(namespace, 'waypost')
    const rules = shippedRules('read').map((rule) => ({ ...rule, verbs: ['get', 'list'] }))
    await grant(admin, { namespace, name: 'waypost' }, rules)
    const waypost = watcher({ namespaces: [namespace] }, cluster.server, token)
    const { code, errors } = await whileWatching(waypost, async (said) => {
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'first' })
      await expect.poll(() => said.errors, SOON).toContain('It may not watch mcpservers')
      await sleep(1_000)
    })
    expect(code).toBe(0)
    const lines = errors.trim().split('\n')
    expect(new Set(lines.map((line) => line.slice(line.indexOf(' ')))).size).toBe(lines.length)
  })

  it('what changes while the connection is cut shows when it is back, and until then all stays', async ({ expect }) => {
    const { at, labels, labelSelector } = await places()
    for (const name of ['changed', 'removed'])
      await createServer(admin, at(name), { labels, annotations: exported(at(name)) })
    const middle = await openMiddle(cluster)
    const waypost = watcher({ labelSelector }, middle.server)
    const { code, errors } = await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({ changed: 'first', removed: 'first' })
      const seen = await seenWhile(
        () => described(waypost),
        async () => {
          middle.cut()
          await change(at('changed'), 'second')
          await admin.remove(...MCP, at('removed'))
          await sleep(4_000)
        },
      )
      expect(seen).toEqual([{ changed: 'first', removed: 'first' }])
      middle.reopen()
      await expect.poll(() => described(waypost), { ...SOON, timeout: 20_000 }).toEqual({ changed: 'second' })
    })
    expect(code).toBe(0)
    // Fourteen lists met the same cut.
    expect(errors.split('\n').length).toBeLessThan(5)
    await middle.close()
  })

  it('what was changed before a watch expired shows, though its news never came', async ({ expect }) => {
    const { at, labels, labelSelector } = await places()
    for (const name of ['changed', 'removed'])
      await createServer(admin, at(name), { labels, annotations: exported(at(name)) })
    const middle = await openMiddle(cluster)
    const waypost = watcher({ labelSelector }, middle.server)
    await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({ changed: 'first', removed: 'first' })
      middle.hold('mcpservers')
      await change(at('changed'), 'second')
      await admin.remove(...MCP, at('removed'))
      await createServer(admin, at('created'), { labels, annotations: exported(at('created')) })
      await sleep(500)
      middle.expire('mcpservers')
      await expect.poll(() => described(waypost), SOON).toEqual({ changed: 'second', created: 'first' })
    })
    await middle.close()
  })

  it.for(['gateways', 'services'])(
    'a route is never unlisted because the news of %s are late',
    async (late, { expect }) => {
      const own = await places()
      const host = `${own.namespace}.example.com`
      const { server } = await exposed(own, host)
      await annotate(admin, ...ROUTES, server, { 'registry-export': 'true' })
      const middle = await openMiddle(cluster)
      const waypost = watcher({ labelSelector: own.labelSelector, debounce: '100ms' }, middle.server)
      const next = own.at('next')
      await whileWatching(waypost, async () => {
        await expect.poll(() => published(waypost), SOON).toEqual([`https://${host}/mcp`])
        // Until the copy is whole, all is listed.
        await sleep(1_000)
        middle.hold(late)
        const seen = await seenWhile(
          () => published(waypost),
          async () => {
            await createGateway(admin, next, own.namespace)
            await takeGateway(admin, next, `next.${host}`)
            const owner = await admin.get(...MCP, server)
            await createService(admin, next, owner)
            const parent = late === 'gateways' ? next : own.at('gateway')
            const backend = late === 'services' ? next : server
            await judgeAhead(server, own.at('gateway'), next)
            await admin.patch(...ROUTES, server, {
              spec: {
                parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent }],
                rules: rulesTo('/next', backend),
              },
            })
            const after = late === 'gateways' ? `https://next.${host}/next` : `https://${host}/next`
            await expect.poll(() => published(waypost), SOON).toEqual([after])
            // A copy that stays behind must not take it away again.
            for (const description of ['second', 'third']) {
              await change(server, description)
              await expect.poll(() => described(waypost), SOON).toEqual({ server: description })
            }
            middle.release()
            await sleep(1_000)
          },
        )
        expect(seen.filter((urls) => urls?.length !== 1)).toEqual([])
      })
      await middle.close()
    },
  )

  it('a cluster that hangs keeps nobody waiting for long who is in another', async ({ expect }) => {
    const { at, labels, labelSelector } = await places()
    await createServer(admin, at('one'), { labels, annotations: exported(at('one')) })
    const middle = await openMiddle(cluster)
    const kubeconfig = JSON.parse(renderKubeconfig(cluster, { token: cluster.adminToken }))
    const [{ cluster: here }] = kubeconfig.clusters
    kubeconfig.clusters.push({ name: 'hung', cluster: { ...here, server: middle.server } })
    kubeconfig.contexts.push({ name: 'hung', context: { cluster: 'hung', user: 'test' } })
    const sources = [
      { name: 'test', kubernetes: { context: 'test', labelSelector } },
      { name: 'hung', kubernetes: { context: 'hung', labelSelector: 'suite=none' } },
    ]
    const waypost = createWaypost(
      JSON.stringify(kubeconfig),
      JSON.stringify({ sources, watch: { lease: false, debounce: '100ms' } }),
    )
    await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'first' })
      middle.hang('/')
      for (const description of ['second', 'third', 'fourth']) {
        await change(at('one'), description)
        await expect.poll(() => described(waypost), { ...SOON, timeout: 15_000 }).toEqual({ one: description })
      }
      expect(reportIn(waypost)?.sources).toMatchObject([{ isFresh: true }, { isFresh: false }])
    })
    await middle.close()
  })
})
