import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Admin, openAdmin } from './admin.ts'
import { installCrd, ownCrds } from './install-crds.ts'
import { type Kube, renderKubeconfig, startKube } from './kube.ts'
import { type Middle, openMiddle } from './middle.ts'
import { annotate, createServer, type Place, TOOLHIVE } from './objects.ts'
import { startWaypost } from './started-waypost.ts'
import { described, pointerIn, SOON, seenWhile, whileWatching } from './watching.ts'
import { createWaypost } from './waypost.ts'

// What others must not see: kinds that come and go, and a server that forgets what was a second ago, so that whoever
// watches on from there is told that it is too late.

const CONFIG = JSON.stringify({ watch: { lease: false, debounce: '100ms' } })
const CRDS = ['apiextensions.k8s.io/v1', 'customresourcedefinitions'] as const
const MCP = [TOOLHIVE, 'mcpservers'] as const

let kube: Kube
let admin: Admin
let middle: Middle
beforeAll(async () => {
  kube = await startKube({ arguments: ['--etcd-compaction-interval=1s', '--watch-cache=false'] })
  admin = openAdmin(kube, { token: kube.adminToken })
  middle = await openMiddle(kube)
})
afterAll(async () => {
  await middle?.close()
  await kube?.stop()
})

const place = (name: string): Place => ({ namespace: 'default', name })
const create = (name: string) =>
  createServer(admin, place(name), {
    annotations: {
      'registry-export': 'true',
      'registry-url': `https://${name}.example.com`,
      'registry-description': 'first',
    },
  })
const change = (name: string, description: string) =>
  annotate(admin, ...MCP, place(name), { 'registry-description': description })

const watcher = () =>
  createWaypost(renderKubeconfig({ server: middle.server, ca: kube.ca }, { token: kube.adminToken }), CONFIG, {
    recheckMs: 300,
  })

describe('a cluster', () => {
  it('that cannot be reached at the start is waited for, and that is said once', async (context) => {
    const { environment, store } = watcher()
    middle.cut()
    const waypost = startWaypost(context, ['watch'], environment)
    await expect.poll(waypost.errors, { timeout: 30_000 }).toContain('Cannot read the cluster')
    await sleep(4_000)
    expect(waypost.isRunning()).toBe(true)
    expect(waypost.errors().trim().split('\n')).toHaveLength(1)
    middle.reopen()
    await expect.poll(() => pointerIn({ store })?.sequence, { timeout: 15_000 }).toBe(1)
    waypost.child.kill('SIGTERM')
    expect(await waypost.ended()).toBe(0)
  })

  it('that gets a kind later is read with it', async () => {
    const waypost = watcher()
    const { code, errors } = await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({})
      const crd = ownCrds().find(({ spec }) => spec.names.plural === 'mcpservers')
      if (crd === undefined) throw new Error('there is no CRD of MCPServer')
      await installCrd(admin, crd)
      await create('one')
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'first' })
    })
    expect([code, errors]).toEqual([0, ''])
  })

  it('that forgot where a watch was is listed again, and no change is lost', async () => {
    const waypost = watcher()
    await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'first' })
      // The version of every quiet watch is left behind.
      for (let count = 0; count < 20; count++) {
        await admin.create('v1', 'configmaps', {
          kind: 'ConfigMap',
          metadata: { namespace: 'default', generateName: 'c-' },
        })
        await sleep(150)
      }
      middle.cut()
      await create('two')
      await change('one', 'second')
      middle.reopen()
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'second', two: 'first' })
    })
    expect(middle.expirations()).toBeGreaterThan(0)
  })

  it('is not listed for a change that a watch brought', async () => {
    const waypost = watcher()
    await whileWatching(waypost, async () => {
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'second', two: 'first' })
      await sleep(1_000)
      const before = middle.asked('limit=')
      await change('one', 'third')
      await admin.remove(...MCP, place('two'))
      await expect.poll(() => described(waypost), SOON).toEqual({ one: 'third' })
      expect(middle.asked('limit=')).toBe(before)
    })
  })

  it('that loses a kind keeps its entries, also while its objects go one by one', async () => {
    await create('two')
    const finalizers = ['example.com/slow']
    await admin.patch(...MCP, place('one'), { metadata: { finalizers } })
    const waypost = watcher()
    await whileWatching(waypost, async () => {
      const all = { one: 'third', two: 'first' }
      await expect.poll(() => described(waypost), SOON).toEqual(all)
      const seen = await seenWhile(
        () => described(waypost),
        async () => {
          await admin.remove(...CRDS, { name: 'mcpservers.toolhive.stacklok.dev' })
          // One of them will not go, and the kind waits for it.
          await expect.poll(() => admin.get(...MCP, place('two')), SOON).toBeUndefined()
          await sleep(2_000)
          await admin.patch(...MCP, place('one'), { metadata: { finalizers: null } })
          await sleep(2_000)
        },
      )
      expect(seen).toEqual([all])
    })
  })
})
