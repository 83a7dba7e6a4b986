import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { KubeLimits } from '../../adapters/cluster/kube-api.ts'
import { seeded } from '../faulty.ts'
import { FAULTS, type Fault, startFaultProxy } from './fault-proxy.ts'
import { renderKubeconfig } from './kube.ts'
import { startedCluster } from './started-cluster.ts'
import { createWaypost } from './waypost.ts'

const cluster = startedCluster()
const { admin } = cluster
const namespace = await cluster.namespaceFor(import.meta.url)
const proxy = await startFaultProxy(cluster)
afterAll(() => proxy.stop())

const LIMITS: KubeLimits = { requestMs: 300, attempts: 4, firstPauseMs: 5, longestPauseMs: 20 }
const API = 'toolhive.stacklok.dev/v1beta1'
const SERVERS = 'mcpservers'

/** What the cluster has, by name: its description. Three pages, or four. */
const truth = new Map<string, string>()

const annotationsOf = (name: string, description: string) => ({
  'toolhive.stacklok.dev/registry-export': 'true',
  'toolhive.stacklok.dev/registry-url': `https://mcp.example.com/${name}`,
  'toolhive.stacklok.dev/registry-description': description,
})

const put = async (name: string, description: string): Promise<void> => {
  const annotations = annotationsOf(name, description)
  if (truth.has(name)) await admin.patch(API, SERVERS, { namespace, name }, { metadata: { annotations } })
  else
    await admin.create(API, SERVERS, {
      kind: 'MCPServer',
      metadata: { namespace, name, annotations },
      spec: { image: 'registry.example.com/mcp:1.0.0', transport: 'streamable-http' },
    })
  truth.set(name, description)
}

const remove = async (name: string): Promise<void> => {
  await admin.remove(API, SERVERS, { namespace, name })
  truth.delete(name)
}

for (let index = 0; index < 11; index++) await put(`s${String(index).padStart(2, '0')}`, 'As it was first')

const kubeconfig = renderKubeconfig({ server: proxy.server, ca: cluster.ca }, { token: cluster.adminToken })
const CONFIG = JSON.stringify({ sources: [{ name: 'cluster', kubernetes: { namespaces: [namespace] } }] })

const open = () => {
  const waypost = createWaypost(kubeconfig, CONFIG, { limits: LIMITS })
  const pointer = (): string => readFileSync(join(waypost.store.slice('file:'.length), 'default/current.json'), 'utf8')
  const entries = async (): Promise<ReadonlyMap<string, string>> =>
    new Map(
      (await waypost.entries()).map(({ server: { name, description } }) => [
        name.replace(`dev.stacklok.toolhive/${namespace}.`, ''),
        description,
      ]),
    )
  return { pointer, entries, sync: () => waypost.run('sync') }
}
type Waypost = ReturnType<typeof open>

/** What a sync under these faults comes to: the whole truth, or a failure after which all is as it was. */
const outcomeOf = async (waypost: Waypost, faultOf: (path: string) => Fault | undefined) => {
  const [pointer, entries] = [waypost.pointer(), await waypost.entries()]
  proxy.fail(faultOf)
  const { code, output, errors } = await waypost.sync()
  proxy.fail(() => undefined)
  if (code === 0) {
    expect(await waypost.entries()).toEqual(truth)
    return { code: '', output }
  }
  expect([code, errors]).toEqual([1, ''])
  expect(waypost.pointer()).toBe(pointer)
  expect(await waypost.entries()).toEqual(entries)
  const lines = output.split('\n').filter((line) => line.startsWith('SourceStale: '))
  expect(lines).toHaveLength(1)
  return { code: /\((\w+)\)\.$/.exec(lines[0] ?? '')?.[1] ?? lines[0] ?? '', output }
}

const pick = <T>(random: () => number, items: readonly T[]): T => {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

/** Two to four faults, that come now and then, at first, or always at one place. */
const combinationOf = (random: () => number): ((path: string) => Fault | undefined) => {
  const faults = Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(random, FAULTS))
  const mode = pick(random, ['now and then', 'often', 'at first', 'always'])
  if (mode === 'always') {
    const place = pick(random, ['continue=', SERVERS, '/apis', 'gateway.networking', '/services', 'namespaces/'])
    const fault = pick(random, faults)
    return (path) => (path.includes(place) ? fault : undefined)
  }
  let left = mode === 'at first' ? 1 + Math.floor(random() * 4) : Number.POSITIVE_INFINITY
  const share = { 'now and then': 0.1, often: 0.4, 'at first': 1 }[mode] ?? 0
  return () => (left-- > 0 && random() < share ? pick(random, faults) : undefined)
}

describe('between the reader and the server', () => {
  it('a list has several pages', async () => {
    const waypost = open()
    proxy.seen.length = 0
    expect((await waypost.sync()).code).toBe(0)
    expect(await waypost.entries()).toEqual(truth)
    expect(proxy.seen.filter((path) => path.includes(`/${SERVERS}?`))).toHaveLength(3)
  })

  it('any of 200 combinations of faults ends in the whole truth, or in what was before', async () => {
    const waypost = open()
    expect((await waypost.sync()).code).toBe(0)
    const outcomes = new Map<string, number>()
    const first = Number(process.env.FUZZ_SEED ?? 1) * 1_000
    for (let seed = first; seed < first + 200; seed++) {
      const random = seeded(seed)
      const others = [...truth.keys()].filter((name) => name.startsWith('t'))
      if (others.length > 2) await remove(pick(random, others))
      else await put(`t${seed}`, `Since ${seed}`)
      await put(pick(random, [...truth.keys()]), `Changed in ${seed}`)
      const { code } = await outcomeOf(waypost, combinationOf(random)).catch((thrown: unknown) => {
        throw new Error(`seed ${seed}`, { cause: thrown })
      })
      outcomes.set(code, (outcomes.get(code) ?? 0) + 1)
    }
    const truths = outcomes.get('') ?? 0
    console.log(
      `200 combinations of faults: ${truths} ended in the truth, ${200 - truths} failed`,
      Object.fromEntries([...outcomes].filter(([code]) => code !== '')),
    )
    expect(truths).toBeGreaterThan(20)
    expect(200 - truths).toBeGreaterThan(20)
    // When all is over, all is well.
    expect((await outcomeOf(waypost, () => undefined)).code).toBe('')
  })

  it.each<[Fault, string]>([
    ['cut', 'ClusterUnreachable'],
    ['cutGzip', 'ClusterUnreachable'],
    ['reset', 'ClusterUnreachable'],
    ['stall', 'ClusterUnreachable'],
    ['stallInside', 'ClusterUnreachable'],
    ['truncated', 'ClusterAnswerUnreadable'],
    ['busy', 'ClusterBusy'],
    ['broken', 'ClusterBusy'],
    ['away', 'ClusterBusy'],
    ['page404', 'ClusterAnswerUnreadable'],
    ['page200', 'ClusterAnswerUnreadable'],
    ['other', 'ClusterAnswerUnreadable'],
    ['bodiless', 'ClusterAnswerUnreadable'],
  ])('on the second page, %s passes when it comes once, and is %s when it stays', async (fault, expected) => {
    const waypost = open()
    expect((await waypost.sync()).code).toBe(0)
    await put('s00', `Before ${fault}`)
    const stays = await outcomeOf(waypost, (path) => (path.includes('continue=') ? fault : undefined))
    expect(stays.code).toBe(expected)
    let left = 1
    const once = await outcomeOf(waypost, (path) => (path.includes('continue=') && left-- > 0 ? fault : undefined))
    // What is whole and of somebody else is not asked for again.
    expect(once.code).toBe(fault === 'other' ? expected : '')
  })

  it('a list that expires is begun again, and asked for all at once where it always does', async () => {
    const waypost = open()
    expect((await waypost.sync()).code).toBe(0)
    await put('s01', 'Before it expires')
    let left = 1
    proxy.seen.length = 0
    const once = await outcomeOf(waypost, (path) => (path.includes('continue=') && left-- > 0 ? 'expired' : undefined))
    expect(once.code).toBe('')
    expect(proxy.seen.filter((path) => path.endsWith(`/${SERVERS}?limit=500`))).toHaveLength(2)
    await put('s01', 'Before it always expires')
    proxy.seen.length = 0
    expect((await outcomeOf(waypost, () => 'expired')).code).toBe('')
    expect(proxy.seen.filter((path) => path.endsWith(`/${SERVERS}`))).toHaveLength(1)
  })

  it('a list that is denied in the middle gives nothing of its beginning', async () => {
    const waypost = open()
    proxy.fail((path) => (path.includes('continue=') ? 'denied' : undefined))
    const { code, output } = await waypost.sync()
    proxy.fail(() => undefined)
    expect([code, output]).toEqual([1, expect.stringContaining('mcpservers')])
    expect((await waypost.sync()).code).toBe(0)
    await put('s02', 'Before it is denied')
    const { output: later } = await outcomeOf(waypost, (path) => (path.includes('continue=') ? 'denied' : undefined))
    expect(later).toContain('mcpservers')
  })
})
