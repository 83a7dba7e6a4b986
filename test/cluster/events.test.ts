import { describe, expect, it } from 'vitest'
import type { KeptObject } from './admin.ts'
import { advisedRules, grant, type Rule, shippedRules } from './granted.ts'
import { renderKubeconfig } from './kube.ts'
import { annotate, createRoute, createServer, type Place, TOOLHIVE } from './objects.ts'
import { startedCluster } from './started-cluster.ts'
import { reportIn, SOON, whileWatching } from './watching.ts'
import { createWaypost } from './waypost.ts'

const cluster = startedCluster()
const { admin } = cluster
const MCP = [TOOLHIVE, 'mcpservers'] as const
const EXPORT = { 'registry-export': 'true', 'registry-description': 'A server' }

const configOf = (namespaces: readonly string[], events = true) =>
  JSON.stringify({
    sources: [{ name: 'cluster', kubernetes: { namespaces } }],
    watch: { lease: false, debounce: '50ms' },
    report: { events },
  })
const kubeconfig = renderKubeconfig(cluster, { token: cluster.adminToken })

const places = async () => {
  const namespace = await cluster.namespaceFor(import.meta.url)
  return { namespace, at: (name: string): Place => ({ namespace, name }) }
}

type Recorded = KeptObject & {
  readonly reason: string
  readonly message: string
  readonly type: string
  readonly involvedObject: Readonly<Record<string, string>>
}

const eventsIn = async (namespace: string): Promise<readonly Recorded[]> =>
  (await admin.list('v1', 'events', namespace)) as readonly Recorded[]

/** `reason Kind/name`, sorted. */
const toldIn = async (namespace: string): Promise<readonly string[]> =>
  (await eventsIn(namespace))
    .map(({ reason, involvedObject: { kind, name } }) => `${reason} ${kind}/${name}`)
    .toSorted()

const sync = async (waypost: ReturnType<typeof createWaypost>): Promise<void> => {
  const { code, output, errors } = await waypost.run('sync')
  expect([code, errors], output).toEqual([0, ''])
}

describe('an owner is told by an Event', () => {
  it('of each finding that skips or degrades what is exported, once', async () => {
    const { namespace, at } = await places()
    const skipped = await createServer(admin, at('skipped'), { annotations: EXPORT })
    const degraded = await createServer(admin, at('degraded'), {
      annotations: { ...EXPORT, 'registry-url': 'https://a.example.com', 'registry-description': 'long '.repeat(100) },
    })
    const route = await createRoute(
      admin,
      at('route'),
      { parent: at('missing'), backend: at('none'), path: '/' },
      EXPORT,
    )
    await createServer(admin, at('silent'))
    await createServer(admin, at('fine'), {
      annotations: { ...EXPORT, 'registry-url': 'https://b.example.com', 'registry-description': 'fine' },
    })
    const waypost = createWaypost(kubeconfig, configOf([namespace]))
    await sync(waypost)
    const told = await eventsIn(namespace)
    const about = ({ kind, metadata }: KeptObject) =>
      told.filter(({ involvedObject }) => involvedObject.uid === metadata.uid && involvedObject.kind === kind)
    expect(about(skipped)).toMatchObject([{ reason: 'EndpointMissing', type: 'Warning' }])
    expect(about(degraded)).toMatchObject([{ reason: 'DescriptionTruncated', involvedObject: at('degraded') }])
    expect(about(route).map(({ reason }) => reason)).toContain('GatewayNotFound')
    expect(told).toHaveLength(about(skipped).length + about(degraded).length + about(route).length)
    for (const { message, reason } of told) expect(message, reason).toMatch(/\. .*\.$/)

    await sync(waypost)
    await sync(waypost)
    expect(await eventsIn(namespace)).toHaveLength(told.length)
  })

  it('again when a finding was gone and comes back, and when another object has its name', async () => {
    const { namespace, at } = await places()
    await createServer(admin, at('one'), { annotations: EXPORT })
    const waypost = createWaypost(kubeconfig, configOf([namespace]))
    await sync(waypost)
    await annotate(admin, ...MCP, at('one'), { 'registry-url': 'https://c.example.com' })
    await sync(waypost)
    expect(await toldIn(namespace)).toEqual(['EndpointMissing MCPServer/one'])
    await annotate(admin, ...MCP, at('one'), { 'registry-url': null })
    await sync(waypost)
    expect(await eventsIn(namespace)).toHaveLength(2)

    await admin.remove(...MCP, at('one'))
    const { metadata } = await createServer(admin, at('one'), { annotations: EXPORT })
    await sync(waypost)
    await sync(waypost)
    const uids = (await eventsIn(namespace)).map(({ involvedObject }) => involvedObject.uid)
    expect(uids).toHaveLength(3)
    expect(uids.filter((uid) => uid === metadata.uid)).toHaveLength(1)
  })

  it('once under watch, however often it syncs', async () => {
    const { namespace, at } = await places()
    await createServer(admin, at('one'), { annotations: EXPORT })
    const waypost = createWaypost(kubeconfig, configOf([namespace]))
    await whileWatching(waypost, async () => {
      await expect.poll(() => toldIn(namespace), SOON).toEqual(['EndpointMissing MCPServer/one'])
      for (const phase of ['Pending', 'Failed', 'Ready']) {
        const before = reportIn(waypost)?.at
        await admin.patchStatus(...MCP, at('one'), { phase })
        await expect.poll(() => reportIn(waypost)?.at, SOON).not.toBe(before)
      }
    })
    expect(await eventsIn(namespace)).toHaveLength(1)
  })

  it('without any secret in it', async () => {
    const { namespace, at } = await places()
    await createServer(admin, at('one'), {
      annotations: { ...EXPORT, 'registry-url': 'https://me:hunter2@example.com', 'authz-claims': '{"role":"hunter2' },
    })
    await sync(createWaypost(kubeconfig, configOf([namespace])))
    const told = await eventsIn(namespace)
    expect(told.map(({ reason }) => reason).toSorted()).toEqual(['ClaimsInvalid', 'EndpointInvalid'])
    expect(JSON.stringify(told)).not.toContain('hunter2')
  })
})

describe('nobody is told', () => {
  it('without report.events, nor by a dry run; and when it is set, what was there before is new', async () => {
    const { namespace, at } = await places()
    await createServer(admin, at('one'), { annotations: EXPORT })
    const silent = createWaypost(kubeconfig, configOf([namespace], false))
    await sync(silent)
    const waypost = createWaypost(kubeconfig, configOf([namespace]), { store: silent.store })
    await waypost.run('sync', '--dry-run')
    expect(await eventsIn(namespace)).toEqual([])
    await sync(waypost)
    await sync(waypost)
    expect(await toldIn(namespace)).toEqual(['EndpointMissing MCPServer/one'])
  })

  it('where that is not allowed; the sync succeeds, says what to add, and the next one tells', async () => {
    const [allowed, denied] = [await places(), await places()]
    const account = { namespace: allowed.namespace, name: 'waypost' }
    const token = await cluster.serviceAccountToken(allowed.namespace, 'waypost')
    const namespaces = [denied.namespace, allowed.namespace]
    const events: readonly Rule[] = shippedRules('events')
    await grant(admin, account, shippedRules('read'))
    await grant(admin, account, events, allowed.namespace)
    for (const { at } of [allowed, denied]) await createServer(admin, at('one'), { annotations: EXPORT })
    const waypost = createWaypost(renderKubeconfig(cluster, { token }), configOf(namespaces))
    // The server learns of a role a moment after it is written.
    await expect
      .poll(async () => (await waypost.run('doctor')).output, SOON)
      .toContain(`create events in namespace ${allowed.namespace}`)

    const first = await waypost.run('sync')
    expect([first.code, first.errors]).toEqual([0, ''])
    const advised = [{ rule: events[0], namespaces: [denied.namespace] }]
    expect(advisedRules(reportIn(waypost)?.untold ?? '')).toEqual(advised)
    expect(advisedRules(first.output)).toEqual(advised)
    await sync(waypost)
    expect([await toldIn(allowed.namespace), await toldIn(denied.namespace)]).toEqual([
      ['EndpointMissing MCPServer/one'],
      [],
    ])

    await grant(admin, account, events, denied.namespace)
    await expect
      .poll(async () => {
        await sync(waypost)
        return toldIn(denied.namespace)
      }, SOON)
      .toEqual(['EndpointMissing MCPServer/one'])
    await sync(waypost)
    expect([await toldIn(allowed.namespace), await toldIn(denied.namespace)].map(({ length }) => length)).toEqual([
      1, 1,
    ])
    expect(reportIn(waypost)?.untold).toBeUndefined()
  })
})
