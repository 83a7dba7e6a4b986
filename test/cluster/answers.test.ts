import { describe, expect, it } from 'vitest'
import { connect } from '../../adapters/cluster/connect.ts'
import { createKubeApi, type KubeLimits } from '../../adapters/cluster/kube-api.ts'
import type { KubeFetch } from '../../adapters/cluster/kube-fetch.ts'
import { openCluster } from '../../adapters/cluster/open-cluster.ts'
import type { Scope, SnapshotReading } from '../../core/model/snapshot.ts'
import { renderKubeconfig } from './kube.ts'
import { startedCluster } from './started-cluster.ts'

// One answer of the real server is another one, again and again: what is a failure, and what is an answer.

const cluster = startedCluster()
const namespace = await cluster.namespaceFor(import.meta.url)
const connection = connect({}, { WAYPOST_KUBECONFIG: renderKubeconfig(cluster, { token: cluster.adminToken }) })
const LIMITS: KubeLimits = { requestMs: 5_000, attempts: 2, firstPauseMs: 1, longestPauseMs: 5 }
const GROUPS = '/apis'
const VERSION = '/apis/toolhive.stacklok.dev/v1beta1'
const LIST = `${VERSION}/namespaces/${namespace}/mcpservers?limit=500`
const scope: Scope = { namespaces: [namespace], labelSelector: [] }

type Change = (original: Record<string, unknown>) => unknown

const replied = (body: unknown, status = 200): Response =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), { status })
const refused = (code: number): unknown => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: 'no',
  code,
})
const HTML = '<html><body>Not here</body></html>'

const readWith = (path: string, answer: Response | Change): Promise<SnapshotReading> => {
  const fetch: KubeFetch = async (asked, init) => {
    if (asked !== path) return connection.fetch(asked, init)
    if (answer instanceof Response) return answer.clone()
    const original = await connection.fetch(asked, init)
    return replied(answer((await original.json()) as Record<string, unknown>))
  }
  const question = { source: 'cluster', scope, gatewayApi: true }
  return openCluster({ ...connection, fetch }, LIMITS).read(question)
}

describe('discovery', () => {
  it.each([
    ['a Status of 404', GROUPS, replied(refused(404), 404), 'ClusterDiscoveryFailed'],
    ['a page of 404', GROUPS, replied(HTML, 404), 'ClusterAnswerUnreadable'],
    ['a 404 of somebody else', GROUPS, replied({ error: 'not here' }, 404), 'ClusterAnswerUnexpected'],
    ['a Status of 403', GROUPS, replied(refused(403), 403), 'ClusterDiscoveryFailed'],
    ['a page of 403', GROUPS, replied(HTML, 403), 'ClusterAnswerUnreadable'],
    ['groups of somebody else', GROUPS, replied({ groups: [] }), 'ClusterDiscoveryFailed'],
    ['no groups', GROUPS, replied({ kind: 'APIGroupList' }), 'ClusterDiscoveryFailed'],
    ['a Status of 404 for a version', VERSION, replied(refused(404), 404), 'ClusterDiscoveryFailed'],
    ['a Status of 403 for a version', VERSION, replied(refused(403), 403), 'ClusterDiscoveryFailed'],
    ['a page of 404 for a version', VERSION, replied(HTML, 404), 'ClusterAnswerUnreadable'],
    ['no resources', VERSION, replied({ kind: 'APIResourceList' }), 'ClusterDiscoveryFailed'],
  ])('that gives %s fails, and nothing is called not installed', async (_, path, answer, code) => {
    await expect(readWith(path, answer)).rejects.toMatchObject({ name: 'OperationError', code })
  })

  it('that answers without a group says that its kinds are not installed', async () => {
    const { snapshot } = await readWith(GROUPS, ({ groups, ...rest }) => ({
      ...rest,
      groups: (groups as { name: string }[]).filter(({ name }) => name !== 'gateway.networking.k8s.io'),
    }))
    expect(Object.fromEntries(snapshot.unlisted)).toEqual({
      ...{ HTTPRoute: 'notInstalled', Gateway: 'notInstalled', GatewayClass: 'notInstalled' },
      ...{ ListenerSet: 'notInstalled', ReferenceGrant: 'notInstalled' },
    })
  })

  it('that answers without a kind says that it is not installed', async () => {
    const leave = ({ resources, ...rest }: Record<string, unknown>) => ({
      ...rest,
      resources: (resources as { kind: string }[]).filter(({ kind }) => kind !== 'MCPServerEntry'),
    })
    const alpha = '/apis/toolhive.stacklok.dev/v1alpha1'
    const fetch: KubeFetch = async (asked, init) => {
      const original = await connection.fetch(asked, init)
      return [VERSION, alpha].includes(asked)
        ? replied(leave((await original.json()) as Record<string, unknown>))
        : original
    }
    const question = { source: 'cluster', scope, gatewayApi: false }
    const { snapshot } = await openCluster({ ...connection, fetch }, LIMITS).read(question)
    expect(Object.fromEntries(snapshot.unlisted)).toEqual({ MCPServerEntry: 'notInstalled' })
  })
})

describe('a list', () => {
  it.each<[string, Response | Change, string]>([
    ['no items', ({ items: _, ...rest }) => rest, 'ClusterAnswerUnreadable'],
    ['items that are no list', (list) => ({ ...list, items: {} }), 'ClusterAnswerUnreadable'],
    ['an item that is none', (list) => ({ ...list, items: [null] }), 'ClusterAnswerUnreadable'],
    ['another kind', (list) => ({ ...list, kind: 'Status' }), 'ClusterAnswerUnreadable'],
    ['a continue that is no text', (list) => ({ ...list, metadata: { continue: 5 } }), 'ClusterAnswerUnreadable'],
    ['a Status of 404', replied(refused(404), 404), 'ClusterChanged'],
    ['a page of 404', replied(HTML, 404), 'ClusterAnswerUnreadable'],
    ['a Status of 410 at its beginning', replied(refused(410), 410), 'ClusterChanged'],
    ['a page of 403', replied(HTML, 403), 'ClusterAnswerUnreadable'],
    ['a Status of 400', replied(refused(400), 400), 'ClusterAnswerUnexpected'],
    ['a page of 200', replied(HTML), 'ClusterAnswerUnreadable'],
    ['nothing', replied(''), 'ClusterAnswerUnreadable'],
    ['null', replied('null'), 'ClusterAnswerUnreadable'],
  ])('that has %s fails', async (_, answer, code) => {
    await expect(readWith(LIST, answer)).rejects.toMatchObject({ name: 'OperationError', code })
  })

  it('that may not be read is an answer', async () => {
    const { snapshot } = await readWith(LIST, replied(refused(403), 403))
    expect(Object.fromEntries(snapshot.unlisted)).toEqual({ MCPServer: 'denied' })
    expect(snapshot.denials).toMatchObject([{ verb: 'list', resource: 'mcpservers', namespace }])
  })

  it('that may not be read any more in its middle gives nothing of its beginning', async () => {
    const metadata = { namespace, name: 'one' }
    const first = { kind: 'MCPServerList', metadata: { continue: 'more' }, items: [{ metadata, spec: {} }] }
    const fetch: KubeFetch = (asked, init) => {
      if (asked === LIST) return Promise.resolve(replied(first))
      return asked === `${LIST}&continue=more`
        ? Promise.resolve(replied(refused(403), 403))
        : connection.fetch(asked, init)
    }
    const question = { source: 'cluster', scope, gatewayApi: false }
    const { snapshot } = await openCluster({ ...connection, fetch }, LIMITS).read(question)
    expect([snapshot.resources, snapshot.unlisted.get('MCPServer')]).toEqual([[], 'denied'])
  })

  it('that is null, as an empty one sometimes is, is empty', async () => {
    const { snapshot } = await readWith(LIST, (list) => ({ ...list, items: null }))
    expect([snapshot.resources, snapshot.unlisted.size]).toEqual([[], 0])
  })
})

describe('patience', () => {
  it('ends with the time for the whole snapshot, whatever Retry-After says', async () => {
    const headers = { 'retry-after': '3600' }
    const fetch: KubeFetch = async () => new Response(JSON.stringify(refused(429)), { status: 429, headers })
    const limits = { ...LIMITS, attempts: 1_000, longestPauseMs: 1_000_000 }
    const api = createKubeApi({ ...connection, fetch }, AbortSignal.timeout(100), limits)
    await expect(api.get('/apis')).rejects.toMatchObject({ code: 'ClusterUnreachable' })
    expect(api.cost().requests).toBe(1)
  })

  it('waits no longer than it may for a server that asks for an hour', async () => {
    const headers = { 'retry-after': '3600' }
    let answers = 0
    const fetch: KubeFetch = async (...call) =>
      answers++ === 0 ? new Response('', { status: 429, headers }) : connection.fetch(...call)
    const api = createKubeApi({ ...connection, fetch }, AbortSignal.timeout(60_000), LIMITS)
    expect((await api.get('/apis')).kind).toBe('ok')
  })

  it('asks a server that hangs twice, and one whose certificate is not trusted once', async () => {
    const hanging: KubeFetch = (_, { signal } = {}) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const limits = { ...LIMITS, requestMs: 20, attempts: 10 }
    const slow = createKubeApi({ ...connection, fetch: hanging }, AbortSignal.timeout(60_000), limits)
    await expect(slow.get('/apis')).rejects.toMatchObject({ code: 'ClusterUnreachable' })
    const untrusted: KubeFetch = () => Promise.reject(Object.assign(new Error(), { code: 'SELF_SIGNED_CERT_IN_CHAIN' }))
    const strange = createKubeApi({ ...connection, fetch: untrusted }, AbortSignal.timeout(60_000), limits)
    await expect(strange.get('/apis')).rejects.toMatchObject({ code: 'ClusterUntrusted' })
    expect([slow.cost().requests, strange.cost().requests]).toEqual([2, 1])
  })
})
