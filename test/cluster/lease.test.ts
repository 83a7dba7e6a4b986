import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { grant, shippedRules } from './granted.ts'
import { renderKubeconfig } from './kube.ts'
import { type Middle, openMiddle } from './middle.ts'
import { annotate, createServer, type Place, TOOLHIVE } from './objects.ts'
import { startedCluster } from './started-cluster.ts'
import { type StartedWaypost, startWaypost } from './started-waypost.ts'
import { described, pointerIn, published, SOON, whileWatching } from './watching.ts'
import { createWaypost } from './waypost.ts'

// Two replicas in processes of their own, which share a store and a Lease.

const cluster = startedCluster()
const { admin } = cluster
const LEASES = ['coordination.k8s.io/v1', 'leases'] as const
const MCP = [TOOLHIVE, 'mcpservers'] as const
/** Silence of three seconds, a try every half: with what a machine needs on top. */
const TAKEN_OVER = { timeout: 10_000, interval: 50 }

const configOf = (namespace: string, lease: object | false = {}) =>
  JSON.stringify({
    sources: [{ name: 'cluster', kubernetes: { namespaces: [namespace] } }],
    watch: {
      debounce: '200ms',
      lease: lease && { namespace, duration: '3s', renewDeadline: '2s', retryPeriod: '500ms', ...lease },
    },
  })

const kubeconfigTo = (server: string, token = cluster.adminToken) =>
  renderKubeconfig({ server, ca: cluster.ca }, { token })

const places = async () => {
  const namespace = await cluster.namespaceFor(import.meta.url)
  const server: Place = { namespace, name: 'server' }
  await createServer(admin, server, {
    annotations: {
      'registry-export': 'true',
      'registry-url': `https://${namespace}.example.com`,
      'registry-description': 'first',
    },
  })
  const change = (description: string) => annotate(admin, ...MCP, server, { 'registry-description': description })
  return { namespace, server, change, lease: { namespace, name: 'waypost' } }
}

const holds = (replica: StartedWaypost): boolean =>
  replica
    .lines()
    .findLast((line) => line.includes('replica publishes'))
    ?.includes('this replica') ?? false

/** What each has published, as it printed it: `description: first → second`. */
const changesBy = (...replicas: readonly StartedWaypost[]): readonly string[] =>
  replicas.flatMap((replica) => replica.lines().flatMap((line) => /description: (.*)$/.exec(line)?.[1] ?? []))

const sequences = (waypost: { store: string }) => pointerIn(waypost)?.history.map(({ sequence }) => sequence)
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const holderOf = async (lease: Place): Promise<unknown> => {
  const { spec } = (await admin.get(...LEASES, lease)) as { readonly spec?: Readonly<Record<string, unknown>> }
  return spec?.holderIdentity
}

describe.concurrent('of two replicas', () => {
  it('one publishes; who is killed is followed, and who is asked to end is followed at once', async ({
    expect,
    onTestFinished,
  }) => {
    const { namespace, change, lease } = await places()
    const waypost = createWaypost(kubeconfigTo(cluster.server), configOf(namespace))
    const shows = (description: string, when = SOON) =>
      expect.poll(() => described(waypost), when).toEqual({ server: description })
    const start = () => startWaypost({ onTestFinished }, ['watch'], waypost.environment)
    const first = start()
    await expect.poll(() => holds(first), TAKEN_OVER).toBe(true)
    await shows('first')
    const second = start()
    await expect.poll(() => second.lines().length, TAKEN_OVER).toBeGreaterThan(1)
    await change('second')
    await shows('second')
    await sleep(1_500)
    expect(holds(second)).toBe(false)

    first.child.kill('SIGKILL')
    await change('third')
    await shows('third', TAKEN_OVER)
    expect(holds(second)).toBe(true)

    const third = start()
    await expect.poll(() => third.lines().length, TAKEN_OVER).toBeGreaterThan(1)
    second.child.kill('SIGTERM')
    expect(await second.ended()).toBe(0)
    // Sooner than its silence alone would allow.
    await expect.poll(() => holds(third), { timeout: 2_500, interval: 50 }).toBe(true)
    await change('fourth')
    await shows('fourth')
    third.child.kill('SIGTERM')
    expect(await third.ended()).toBe(0)
    expect(await holderOf(lease)).toBeUndefined()

    const changes = [changesBy(first), changesBy(second), changesBy(third)]
    expect(changes).toEqual([['first → second'], ['second → third'], ['third → fourth']])
    expect(sequences(waypost)).toEqual(upTo(4))
    expect([second.errors(), third.errors()]).toEqual(['', ''])
  })

  it('the holder that cannot renew the Lease stops publishing, though it still sees what changes', async ({
    expect,
    onTestFinished,
  }) => {
    const { namespace, change } = await places()
    const middle = await openMiddle(cluster)
    const config = configOf(namespace)
    const behind = createWaypost(kubeconfigTo(middle.server), config)
    const direct = createWaypost(kubeconfigTo(cluster.server), config, { store: behind.store })
    const first = startWaypost({ onTestFinished }, ['watch'], behind.environment)
    await expect.poll(() => described(direct), TAKEN_OVER).toEqual({ server: 'first' })
    const second = startWaypost({ onTestFinished }, ['watch'], direct.environment)
    await expect.poll(() => second.lines().length, TAKEN_OVER).toBeGreaterThan(1)

    middle.block('/leases')
    await expect.poll(() => holds(second), TAKEN_OVER).toBe(true)
    expect(holds(first)).toBe(false)
    await change('second')
    await expect.poll(() => described(direct), SOON).toEqual({ server: 'second' })
    middle.block(undefined)
    await sleep(1_500)
    await change('third')
    await expect.poll(() => described(direct), SOON).toEqual({ server: 'third' })
    // It publishes first, and then says so.
    await expect.poll(() => changesBy(second), SOON).toEqual(['first → second', 'second → third'])
    expect(changesBy(first)).toEqual([])

    // And back, when the other cannot be reached at all.
    second.child.kill('SIGSTOP')
    await change('fourth')
    await expect.poll(() => described(direct), TAKEN_OVER).toEqual({ server: 'fourth' })
    second.child.kill('SIGCONT')
    await change('fifth')
    await expect.poll(() => described(direct), SOON).toEqual({ server: 'fifth' })
    await sleep(1_000)
    expect(changesBy(first, second).toSorted()).toEqual(
      ['first → second', 'second → third', 'third → fourth', 'fourth → fifth'].toSorted(),
    )
    expect(holds(second)).toBe(false)
    expect(sequences(direct)).toEqual(upTo(5))
    await middle.close()
  })
})

describe.concurrent('a Lease that cannot be used', () => {
  it('for want of its namespace is said once, and tried until it can', async ({ expect }) => {
    const { namespace, change } = await places()
    const elsewhere = `${namespace}-lease`
    const config = configOf(namespace, { namespace: elsewhere, retryPeriod: '100ms' })
    const waypost = createWaypost(kubeconfigTo(cluster.server), config)
    const { code, errors } = await whileWatching(waypost, async (said) => {
      await expect.poll(() => said.errors, SOON).toContain(`There is no namespace ${elsewhere}`)
      await change('second')
      await sleep(1_000)
      expect(pointerIn(waypost)).toBeUndefined()
      await admin.create('v1', 'namespaces', { kind: 'Namespace', metadata: { name: elsewhere } })
      await expect.poll(() => described(waypost), SOON).toEqual({ server: 'second' })
    })
    expect(code).toBe(0)
    expect(errors.trim().split('\n')).toHaveLength(1)
    expect(errors).toContain('watch.lease.namespace')
  })

  it('for want of a right is said once, with the rule to add, and tried until it can', async ({ expect }) => {
    const { namespace, lease } = await places()
    const account = { namespace, name: 'waypost' }
    const token = await cluster.serviceAccountToken(namespace, 'waypost')
    await grant(admin, account, shippedRules('read'))
    const waypost = createWaypost(kubeconfigTo(cluster.server, token), configOf(namespace, { retryPeriod: '100ms' }))
    const { code, errors } = await whileWatching(waypost, async (said) => {
      await expect.poll(() => said.errors, SOON).toContain('resources: ["leases"], verbs: ["get", "create", "update"]')
      await sleep(1_000)
      expect(pointerIn(waypost)).toBeUndefined()
      await grant(admin, account, shippedRules('lease'), namespace)
      await expect.poll(() => described(waypost), SOON).toEqual({ server: 'first' })
      expect(await holderOf(lease)).toEqual(expect.any(String))
    })
    expect(code).toBe(0)
    expect(errors.trim().split('\n')).toHaveLength(1)
    expect(await holderOf(lease)).toBeUndefined()
  })

  it('is not asked for where watch.lease is false', async ({ expect }) => {
    const { namespace, lease } = await places()
    const token = await cluster.serviceAccountToken(namespace, 'waypost')
    await grant(admin, { namespace, name: 'waypost' }, shippedRules('read'))
    const waypost = createWaypost(kubeconfigTo(cluster.server, token), configOf(namespace, false))
    const { code, errors } = await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({ server: 'first' })
    })
    expect([code, errors]).toEqual([0, ''])
    expect(await admin.get(...LEASES, lease)).toBeUndefined()
  })
})

describe('a process that is asked to end', () => {
  let middle: Middle
  beforeAll(async () => {
    middle = await openMiddle(cluster)
  })
  afterAll(() => middle.close())

  it('ends in the middle of a read, and gives the Lease back', async ({ expect, onTestFinished }) => {
    const { namespace, change, lease } = await places()
    const waypost = createWaypost(kubeconfigTo(middle.server), configOf(namespace))
    const started = startWaypost({ onTestFinished }, ['watch'], waypost.environment)
    await expect.poll(() => described(waypost), TAKEN_OVER).toEqual({ server: 'first' })
    const before = pointerIn(waypost)
    middle.hang('limit=')
    const asked = middle.asked('limit=')
    await change('second')
    await expect.poll(() => middle.asked('limit='), SOON).toBeGreaterThan(asked)
    started.child.kill('SIGTERM')
    expect(await started.ended()).toBe(0)
    expect(await holderOf(lease)).toBeUndefined()
    expect(pointerIn(waypost)).toEqual(before)
    middle.hang(undefined)
  })

  it('at any moment leaves a whole publication, and nobody waits for its Lease', async ({ expect, onTestFinished }) => {
    const { namespace, change, lease } = await places()
    const waypost = createWaypost(kubeconfigTo(cluster.server), configOf(namespace))
    await waypost.run('sync')
    for (const [round, delay] of [0, 250, 320, 400].entries()) {
      const started = startWaypost({ onTestFinished }, ['watch'], waypost.environment)
      await expect.poll(() => holds(started), TAKEN_OVER).toBe(true)
      await change(`round ${round}`)
      await sleep(delay)
      started.child.kill('SIGTERM')
      expect(await started.ended()).toBe(0)
      expect(started.errors()).toBe('')
      expect(await holderOf(lease)).toBeUndefined()
      expect(await published(waypost)).toEqual([`https://${namespace}.example.com`])
    }
    const after = await waypost.run('sync')
    expect([after.code, after.errors]).toEqual([0, ''])
    expect(await described(waypost)).toEqual({ server: 'round 3' })
  })
})
