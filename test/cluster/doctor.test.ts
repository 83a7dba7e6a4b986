import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ClusterCheck } from '../../core/ports.ts'
import { advisedRules, grant, RESOURCES, type Rule, resourcesIn, shippedRules, without } from './granted.ts'
import { renderKubeconfig } from './kube.ts'
import { startedCluster } from './started-cluster.ts'
import { SOON } from './watching.ts'
import { createWaypost } from './waypost.ts'

const cluster = startedCluster()
const { admin } = cluster
const READ = shippedRules('read')
/** Without these a sync goes on, with less. */
const DEGRADING = [
  'mcpgroups',
  'mcpexternalauthconfigs',
  'gatewayclasses',
  'listenersets',
  'referencegrants',
  'namespaces',
]
const IMPATIENT = { requestMs: 2_000, attempts: 1, firstPauseMs: 1, longestPauseMs: 1 }

type Examined = { readonly of: string; readonly checks: readonly ClusterCheck[] }
type Doctor = { readonly isWell: boolean; readonly checks: readonly Examined[] }

type Given = { readonly read?: readonly Rule[]; readonly lease?: boolean; readonly config?: object }

/** A user with these rights, and a configuration that names its namespace. */
const userWith = async ({ read = READ, lease = true, config = {} }: Given) => {
  const namespace = await cluster.namespaceFor(import.meta.url)
  const token = await cluster.serviceAccountToken(namespace, 'waypost')
  const account = { namespace, name: 'waypost' }
  const granted = await grant(admin, account, read)
  if (lease) await grant(admin, account, shippedRules('lease'), namespace)
  const text = JSON.stringify({ watch: { lease: { namespace } }, ...config })
  const waypost = createWaypost(renderKubeconfig(cluster, { token }), text)
  const doctor = async (): Promise<Doctor & { readonly code: number }> => {
    const { code, output } = await waypost.run('doctor', '--json')
    return { code, ...JSON.parse(output) }
  }
  return { namespace, account, granted, waypost, doctor }
}

const problemsIn = ({ checks }: Doctor): readonly ClusterCheck[] =>
  checks.flatMap((each) => each.checks.filter(({ isFine }) => !isFine))

const marked = (output: string, mark: string): readonly string[] =>
  output.split('\n').filter((line) => line.startsWith(`  ${mark}  `))

describe('waypost doctor', () => {
  it('finds nothing wrong with the shipped roles, in a few lines', async () => {
    const { waypost, doctor } = await userWith({})
    // The server learns of a role a moment after it is written.
    await expect.poll(async () => problemsIn(await doctor()), SOON).toEqual([])
    const { code, output, errors } = await waypost.run('doctor')
    expect([code, errors]).toEqual([0, ''])
    expect(output.trim().split('\n').length).toBeLessThan(12)
    expect(output).toContain(cluster.server)
    expect([marked(output, 'FAIL'), marked(output, 'warn')]).toEqual([[], []])
    // In JSON each right is for itself.
    const rights = (await doctor()).checks.flatMap(({ checks }) => checks.filter(({ verb }) => verb !== undefined))
    expect(rights.filter(({ verb }) => verb === 'list')).toHaveLength(RESOURCES.size)
    expect(rights.filter(({ verb }) => verb === 'watch')).toHaveLength(RESOURCES.size)
  })

  it('names each resource that may not be read, with the rule that mends it', async () => {
    const { granted, doctor, waypost } = await userWith({})
    await expect.poll(async () => problemsIn(await doctor()), SOON).toEqual([])
    for (const { group, resource } of resourcesIn(READ)) {
      await granted.change(without(READ, { group, resource }))
      await expect.poll(async () => problemsIn(await doctor()).length, SOON).toBe(2)
      const found = await doctor()
      const isNeeded = !DEGRADING.includes(resource)
      expect([found.code, found.isWell], resource).toEqual(isNeeded ? [1, false] : [0, true])
      const { output } = await waypost.run('doctor')
      expect(marked(output, isNeeded ? 'FAIL' : 'warn'), output).toHaveLength(1)
      expect(marked(output, isNeeded ? 'warn' : 'FAIL'), output).toEqual([])
      const [advised] = advisedRules(output)
      expect(advised).toEqual({
        rule: { apiGroups: [group], resources: [resource], verbs: ['get', 'list', 'watch'] },
        namespaces: [],
      })
      await granted.change([...without(READ, { group, resource }), ...(advised === undefined ? [] : [advised.rule])])
      await expect.poll(async () => problemsIn(await doctor()), SOON).toEqual([])
    }
  })

  it('warns of what only watch and Events need', async () => {
    const read = READ.map((rule) => ({ ...rule, verbs: ['get', 'list'] }))
    const { namespace, account, waypost, doctor } = await userWith({
      read,
      lease: false,
      config: { report: { events: true } },
    })
    await expect.poll(async () => (await doctor()).code, SOON).toBe(0)
    const { output } = await waypost.run('doctor')
    expect(marked(output, 'FAIL')).toEqual([])
    // A line for each API group, the Lease and the Events.
    expect(marked(output, 'warn'), output).toHaveLength(5)
    const advised = advisedRules(output)
    expect(advised.map(({ rule }) => rule.resources[0])).toEqual(expect.arrayContaining(['leases', 'events']))
    for (const { rule, namespaces } of advised) await grant(admin, account, [rule], namespaces[0])
    await expect.poll(async () => problemsIn(await doctor()), SOON).toEqual([])
    expect(advised.find(({ rule }) => rule.resources.includes('leases'))?.namespaces).toEqual([namespace])
  })

  it('asks in each namespace of a source for itself', async () => {
    const [first, second] = [await cluster.namespaceFor(import.meta.url), await cluster.namespaceFor(import.meta.url)]
    const sources = [{ name: 'teams', kubernetes: { namespaces: [first, second] } }]
    const { account, waypost, doctor } = await userWith({
      read: shippedRules('read-gateway-classes'),
      config: { sources, watch: { lease: false } },
    })
    await grant(admin, account, shippedRules('read-in-namespace'), first)
    await expect.poll(async () => (await doctor()).code, SOON).toBe(1)
    const { output } = await waypost.run('doctor')
    const advised = advisedRules(output)
    expect([...new Set(advised.flatMap(({ namespaces }) => namespaces))]).toEqual([second])
    await grant(
      admin,
      account,
      advised.map(({ rule }) => rule),
      second,
    )
    await expect.poll(async () => problemsIn(await doctor()), SOON).toEqual([])
  })

  it('has one line for what cannot be reached, and still checks the rest', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'waypost-doctor-')), 'file')
    writeFileSync(file, 'no folder')
    const kubeconfig = JSON.parse(renderKubeconfig(cluster, { token: cluster.adminToken }))
    const [{ cluster: here }] = kubeconfig.clusters
    kubeconfig.clusters.push({ name: 'gone', cluster: { ...here, server: 'https://127.0.0.1:1' } })
    kubeconfig.contexts.push({ name: 'gone', context: { cluster: 'gone', user: 'test' } })
    const sources = ['gone', 'nowhere', 'test'].map((context) => ({ name: context, kubernetes: { context } }))
    const config = JSON.stringify({ sources, watch: { lease: false } })
    const waypost = createWaypost(JSON.stringify(kubeconfig), config, {
      store: `file:${file}/store`,
      limits: IMPATIENT,
    })
    const { code, output, errors } = await waypost.run('doctor')
    expect([code, errors]).toEqual([1, ''])
    expect(marked(output, 'FAIL'), output).toHaveLength(3)
    expect(output).toMatch(
      /source gone\n {2}FAIL {2}Cannot read the cluster at https:\/\/127\.0\.0\.1:1: nobody listens/,
    )
    expect(output).toMatch(/source nowhere\n {2}FAIL {2}.*nowhere/)
    expect(output).toMatch(/source test\n {2}ok .*\n {2}ok /)
    expect(output).toMatch(/store file:.*\n {2}FAIL {2}/)
    const json: Doctor = JSON.parse((await waypost.run('doctor', '--json')).output)
    expect(json.isWell).toBe(false)
    expect(json.checks.map(({ of, checks }) => [of.split(' ')[0], checks.some(({ isFine }) => !isFine)])).toEqual([
      ['source', true],
      ['source', true],
      ['source', false],
      ['store', true],
    ])
  })

  it('has one line for a kubeconfig that is broken', async () => {
    const waypost = createWaypost('{ "clusters": [', JSON.stringify({ watch: { lease: false } }))
    const { code, output, errors } = await waypost.run('doctor')
    expect([code, errors]).toEqual([1, ''])
    expect(marked(output, 'FAIL')).toHaveLength(1)
    expect(marked(output, 'ok  ')).toHaveLength(1)
  })
})
