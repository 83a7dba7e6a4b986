import { describe, expect, it } from 'vitest'
import { type KindToRead, stagesOf } from '../../adapters/cluster/kinds.ts'
import { MCP_KINDS } from '../../core/model/resource.ts'
import { type Admin, openAdmin } from './admin.ts'
import {
  advisedRules,
  grant,
  RESOURCES,
  type Resource,
  type Rule,
  resourcesIn,
  rightsIn,
  shippedRules,
  without,
} from './granted.ts'
import { renderKubeconfig } from './kube.ts'
import {
  annotations,
  createGateway,
  createGatewayClass,
  createListenerSet,
  createRoute,
  createServer,
  createService,
  exposeServer,
  grantServices,
  judgeRoute,
  TOOLHIVE,
  takeGateway,
  takeListenerSet,
} from './objects.ts'
import { startedCluster } from './started-cluster.ts'
import { listedUrls, pointerOf, type SyncedOnce, syncOnce } from './synced.ts'
import { createWaypost } from './waypost.ts'

const cluster = startedCluster()
const { admin } = cluster
const [alpha = '', beta = '', edge = '', shop = ''] = await Promise.all(
  [1, 2, 3, 4].map(() => cluster.namespaceFor(import.meta.url)),
)

/** Of what is ours: sources of all namespaces see what other tests do, and must not care. */
const OURS = { 'example.com/roles': alpha }

/** Everything that a right may be needed for: a Gateway and a ListenerSet that choose by labels, a grant, an entry. */
const build = async (): Promise<void> => {
  const labels = { 'example.com/team': alpha }
  await Promise.all(
    [alpha, beta, edge].map((name) => admin.patch('v1', 'namespaces', { name }, { metadata: { labels } })),
  )
  const gateway = { namespace: edge, name: 'edge' }
  await createGatewayClass(admin, alpha)
  await createGateway(admin, gateway, alpha, alpha)
  await takeGateway(admin, gateway, 'edge.example.net')
  const set = { namespace: edge, name: 'set' }
  await createListenerSet(admin, set, gateway, 'set.example.net')
  await takeListenerSet(admin, set)
  await exposeServer(admin, { namespace: alpha, name: 'by-gateway' }, gateway, OURS)
  await exposeServer(admin, { namespace: beta, name: 'by-set' }, { ...set, kind: 'ListenerSet' }, OURS)

  const [place, backend] = [
    { namespace: beta, name: 'granted' },
    { namespace: shop, name: 'granted' },
  ]
  await createService(admin, backend, await createServer(admin, backend, { labels: OURS }))
  await grantServices(admin, backend, beta)
  await createRoute(admin, place, { parent: gateway, backend, path: '/granted' }, { 'registry-export': 'true' })
  await judgeRoute(admin, place, 'True')

  const group = { namespace: beta, name: 'group' }
  await admin.create(TOOLHIVE, 'mcpgroups', { kind: 'MCPGroup', metadata: group, spec: { description: 'A group' } })
  await admin.create(TOOLHIVE, 'mcpexternalauthconfigs', {
    kind: 'MCPExternalAuthConfig',
    metadata: { namespace: beta, name: 'auth' },
    spec: {
      type: 'headerInjection',
      headerInjection: { headerName: 'X-Key', valueSecretRef: { name: 'secret', key: 'key' } },
    },
  })
  await admin.create(TOOLHIVE, 'mcpserverentries', {
    kind: 'MCPServerEntry',
    metadata: {
      namespace: beta,
      name: 'entry',
      labels: OURS,
      annotations: annotations({ 'registry-export': 'true', 'registry-description': 'An entry' }),
    },
    spec: {
      remoteUrl: `https://vendor.example.com/${beta}`,
      transport: 'streamable-http',
      groupRef: { name: 'group' },
      externalAuthConfigRef: { name: 'auth' },
    },
  })
}
await build()

const URLS = [
  'https://edge.example.net/by-gateway',
  'https://set.example.net/by-set',
  `https://vendor.example.com/${beta}`,
]
/** Of a Service outside the namespaces nobody reads whose it is, so this is only for a source of all. */
const FAR = 'https://edge.example.net/granted'

/** A source that cannot read these has failed; without any other it is judged with less. */
const NEEDED: readonly string[] = [...MCP_KINDS, 'HTTPRoute', 'Gateway', 'Service']
const kindOf = ({ group, resource }: Resource): string =>
  [...RESOURCES.values()].find((each) => each.group === group && each.resource === resource)?.kind ?? resource

const rootOf = ({ group }: Resource): string =>
  group === '' ? '/api/v1' : `/apis/${group}/${group.startsWith('gateway') ? 'v1' : 'v1beta1'}`
const pathOf = (one: Resource, namespace?: string): string =>
  `${rootOf(one)}${namespace === undefined || one.resource === 'gatewayclasses' ? '' : `/namespaces/${namespace}`}/${one.resource}`

/** The path by which a right is used. In a Role, a Namespace is the one that the Role is in. */
const useOf = (one: Resource, verb: string, namespace?: string): string => {
  if (one.resource === 'namespaces' && namespace !== undefined) return `/api/v1/namespaces/${namespace}`
  return verb === 'get' ? `${pathOf(one, namespace)}/none` : `${pathOf(one, namespace)}?limit=1`
}

const statusOf = async (as: Admin, method: string, path: string, body?: object): Promise<number> =>
  (await as.request(method, path, body, method === 'PATCH' ? 'application/merge-patch+json' : undefined)).status

type Place = { readonly rules: readonly Rule[]; readonly namespace?: string }

/** An account with these roles, once the API server knows of them. */
const openAccount = async (name: string, places: readonly Place[]) => {
  const account = { namespace: alpha, name }
  const token = await cluster.serviceAccountToken(alpha, name)
  const as = openAdmin(cluster, { token })
  const isDenied = async (path: string): Promise<boolean> => (await statusOf(as, 'GET', path)) === 403
  const allow = async ({ rules, namespace }: Place) => {
    const granted = await grant(admin, account, rules, namespace)
    const uses = rules.flatMap((rule) =>
      resourcesIn([rule]).map((one) => useOf(one, rule.verbs.includes('list') ? 'list' : 'get', namespace)),
    )
    const denied = async () => (await Promise.all(uses.map(isDenied))).filter(Boolean).length
    await expect.poll(denied, { timeout: 10_000 }).toBe(0)
    return granted
  }
  const roles = await Promise.all(places.map(allow))
  return { as, isDenied, allow, roles, kubeconfig: renderKubeconfig(cluster, { token }) }
}

const configOf = (kubernetes: object): string => {
  const labelSelector = `example.com/roles=${alpha}`
  return JSON.stringify({ sources: [{ name: 'cluster', kubernetes: { labelSelector, ...kubernetes } }] })
}

const denials = ({ findings }: SyncedOnce) => findings.filter(({ code }) => code === 'KindDenied')

type Loss = {
  readonly name: string
  readonly places: readonly Place[]
  /** Which of the roles loses what. */
  readonly from: number
  readonly missing: Resource
  readonly verb: string
  readonly kubernetes: object
  readonly urls: readonly string[]
}

/** Takes a resource out of a role, and reads what the next sync says; what it advises must mend it. */
const loseRight = async ({ name, places, from, missing, verb, kubernetes, urls }: Loss): Promise<void> => {
  const account = await openAccount(name, places)
  const { rules = [], namespace } = places[from] ?? {}
  const waypost = createWaypost(account.kubeconfig, configOf(kubernetes))
  const whole = await syncOnce(waypost)
  expect(whole.exit).toBe(0)
  expect(denials(whole)).toEqual([])
  expect(await listedUrls(waypost)).toEqual(urls)

  const pointer = pointerOf(waypost)
  await account.roles[from]?.change(without(rules, missing))
  await expect.poll(() => account.isDenied(useOf(missing, verb, namespace)), { timeout: 10_000 }).toBe(true)
  const lost = await syncOnce(waypost)
  const kind = kindOf(missing)
  const isNeeded = NEEDED.includes(kind)
  expect(lost.exit).toBe(isNeeded ? 1 : 0)
  expect(await listedUrls(waypost)).toEqual(urls)
  const said = isNeeded
    ? [lost.sources[0]?.problem ?? '']
    : denials(lost).map(({ message, fix }) => `${message} ${fix}`)
  expect(said).toHaveLength(1)
  const [message = ''] = said
  if (isNeeded) {
    expect(pointerOf(waypost)).toBe(pointer)
    const resource = missing.group === '' ? missing.resource : `${missing.resource}.${missing.group}`
    const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`
    expect(message).toContain(`${verb} ${resource} ${where}`)
  } else expect(denials(lost).map((finding) => finding.kind)).toEqual([kind])
  const verbs = verb === 'get' ? ['get'] : ['get', 'list', 'watch']
  const rule = { apiGroups: [missing.group], resources: [missing.resource], verbs }
  expect(advisedRules(message)).toEqual([{ rule, namespaces: namespace === undefined ? [] : [namespace] }])

  for (const advised of advisedRules(message))
    for (const each of advised.namespaces.length === 0 ? [undefined] : advised.namespaces)
      await account.allow({ rules: [advised.rule], ...(each !== undefined && { namespace: each }) })
  const mended = await syncOnce(waypost)
  expect(mended.exit).toBe(0)
  expect(denials(mended)).toEqual([])
}

const READ = shippedRules('read')
const IN_NAMESPACE = shippedRules('read-in-namespace')

const rightsFor = (kinds: readonly KindToRead[]): readonly string[] =>
  kinds
    .flatMap(({ kind, group }) =>
      ['get', 'list', 'watch'].map((verb) => `${verb} ${RESOURCES.get(kind)?.resource}.${group}`),
    )
    .sort()

describe('the roles that are shipped', () => {
  it('allow to get, list and watch the kinds that are read, and nothing else', () => {
    expect(rightsIn(READ)).toEqual(rightsFor(stagesOf(true).flat()))
    expect(rightsIn(shippedRules('read-without-gateway-api'))).toEqual(rightsFor(stagesOf(false).flat()))
  })

  it('allow the same in a namespace, with that namespace itself', () => {
    const kinds = (gatewayApi: boolean) =>
      stagesOf(gatewayApi)
        .flat()
        .filter(({ isNamespaced }) => isNamespaced)
    expect(rightsIn(IN_NAMESPACE)).toEqual([...rightsFor(kinds(true)), 'get namespaces.'].sort())
    expect(rightsIn(shippedRules('read-in-namespace-without-gateway-api'))).toEqual(rightsFor(kinds(false)))
  })
})

describe('with the ClusterRole', () => {
  it.each(resourcesIn(READ))('a sync works, and one that lost $resource says which rule to add', (missing) =>
    loseRight({
      name: `without-${missing.resource}`,
      places: [{ rules: READ }],
      from: 0,
      missing,
      verb: 'list',
      kubernetes: {},
      urls: [...URLS, FAR].sort(),
    }),
  )

  it('without rules for the Gateway API, a source that does not ask for it is whole', async () => {
    const { kubeconfig } = await openAccount('mcp-only', [{ rules: shippedRules('read-without-gateway-api') }])
    const waypost = createWaypost(kubeconfig, configOf({ gatewayApi: false }))
    const synced = await syncOnce(waypost)
    expect(synced.exit).toBe(0)
    expect(denials(synced)).toEqual([])
    expect(await listedUrls(waypost)).toEqual([`https://vendor.example.com/${beta}`])
    const asking = await syncOnce(createWaypost(kubeconfig, configOf({})))
    expect(asking.exit).toBe(1)
    expect(advisedRules(asking.sources[0]?.problem ?? '').map(({ rule }) => rule.resources[0])).toEqual([
      'services',
      'gateways',
      'httproutes',
    ])
  })
})

describe('with a Role for each namespace', () => {
  const PLACES: readonly Place[] = [
    { rules: IN_NAMESPACE, namespace: alpha },
    { rules: IN_NAMESPACE, namespace: beta },
    { rules: shippedRules('read-in-gateway-namespace'), namespace: edge },
    { rules: shippedRules('read-in-service-namespace'), namespace: shop },
    { rules: shippedRules('read-gateway-classes') },
  ]
  // Those of the second namespace stand for those of the first.
  const losses = PLACES.flatMap(({ rules }, from) =>
    from === 0
      ? []
      : rules.flatMap((rule) =>
          resourcesIn([rule]).map((missing) => ({
            ...{ from, missing, resource: missing.resource, verb: rule.verbs.includes('list') ? 'list' : 'get' },
            where: ['', 'a namespace of the source', 'that of the Gateway', 'that of the Service', 'the cluster'][from],
          })),
        ),
  )

  it.each(losses)('a sync works, and one that lost $resource in $where says which rule to add', (loss) =>
    loseRight({
      ...loss,
      name: `without-${loss.resource}-${loss.from}`,
      places: PLACES,
      kubernetes: { namespaces: [alpha, beta] },
      urls: URLS,
    }),
  )

  it('nothing is read outside of them', async () => {
    const { as } = await openAccount('narrow', PLACES)
    const kinds = [...RESOURCES.values()]
    const far = await cluster.namespaceFor(import.meta.url)
    const paths = [
      ...kinds.map((one) => pathOf(one)),
      ...kinds.filter(({ isNamespaced }) => isNamespaced).flatMap((one) => [pathOf(one, far), `${pathOf(one, far)}/x`]),
      `/api/v1/namespaces/${far}`,
      // By its name only what is known by name.
      ...['gateways', 'listenersets'].map((resource) => pathOf({ group: 'gateway.networking.k8s.io', resource }, edge)),
      `/apis/gateway.networking.k8s.io/v1/namespaces/${edge}/httproutes/x`,
      `/api/v1/namespaces/${shop}/services`,
      `/apis/${TOOLHIVE}/namespaces/${shop}/mcpservers`,
    ]
    const answers = await Promise.all(paths.map(async (path) => [path, await statusOf(as, 'GET', path)] as const))
    expect(answers.filter(([, status]) => status !== 403)).toEqual([])
  })
})

/** What nobody who compiles a registry has any business with, and all there is to write. */
const forbidden = (): readonly (readonly [method: string, path: string, body?: object])[] => {
  const at = `/api/v1/namespaces/${beta}`
  const changes = [...RESOURCES.values()].flatMap((one) => {
    const path = pathOf(one, one.isNamespaced ? beta : undefined)
    const body = {
      apiVersion: rootOf(one).replace(/^\/apis?\//, ''),
      kind: one.kind,
      metadata: { name: 'x', ...(one.isNamespaced && { namespace: beta }) },
    }
    return [
      ['POST', path, body],
      ['PUT', `${path}/x`, body],
      ['PATCH', `${path}/x`, { metadata: { labels: { x: 'x' } } }],
      ['PATCH', `${path}/x/status`, { status: {} }],
      ['DELETE', `${path}/x`],
      ...(one.resource === 'namespaces' || one.resource === 'services' ? [] : [['DELETE', path] as const]),
    ] as const
  })
  const secrets = [`${at}/secrets`, '/api/v1/secrets', `${at}/secrets?watch=1`, `${at}/secrets/x`]
  const others = [
    ...['configmaps', 'pods', 'events', 'serviceaccounts', 'endpoints', 'persistentvolumeclaims'].flatMap((each) => [
      `${at}/${each}`,
      `${at}/${each}/x`,
      `/api/v1/${each}`,
    ]),
    ...[`${at}/services/x/proxy/`, `${at}/services/x/status`, `${at}/pods/x/log`, '/api/v1/nodes'],
    `/apis/coordination.k8s.io/v1/namespaces/${beta}/leases`,
    `/apis/apps/v1/namespaces/${beta}/deployments`,
    `/apis/rbac.authorization.k8s.io/v1/clusterroles`,
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${beta}/roles`,
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    `/apis/${TOOLHIVE}/namespaces/${beta}/mcpregistries`,
    `/apis/${TOOLHIVE}/namespaces/${beta}/mcptoolconfigs`,
    ...['/metrics', '/logs/', '/debug/pprof/'],
  ]
  const name = { metadata: { name: 'x' } }
  const writes = [
    [`${at}/pods`, { kind: 'Pod', ...name }],
    [`${at}/pods/x/exec`, {}],
    [`${at}/secrets`, { kind: 'Secret', ...name }],
    [`${at}/configmaps`, { kind: 'ConfigMap', ...name }],
    [`${at}/events`, { kind: 'Event', ...name }],
    [`/apis/events.k8s.io/v1/namespaces/${beta}/events`, { kind: 'Event', ...name }],
    [`/apis/coordination.k8s.io/v1/namespaces/${beta}/leases`, { kind: 'Lease', ...name }],
    [`/api/v1/namespaces/${alpha}/serviceaccounts/reader/token`, { kind: 'TokenRequest', spec: {} }],
    [`/apis/rbac.authorization.k8s.io/v1/namespaces/${beta}/rolebindings`, { kind: 'RoleBinding', ...name }],
    ['/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { kind: 'ClusterRoleBinding', ...name }],
    ['/apis/authentication.k8s.io/v1/tokenreviews', { kind: 'TokenReview', spec: {} }],
    ['/apis/authorization.k8s.io/v1/subjectaccessreviews', { kind: 'SubjectAccessReview', spec: {} }],
  ] as const
  return [
    ...changes,
    ...[...secrets, ...others].map((path) => ['GET', path] as const),
    ...writes.map(([path, body]) => ['POST', path, body] as const),
  ]
}

describe('a reader', () => {
  it.each([
    ['the ClusterRole', 'reader', [{ rules: READ }]],
    ['a Role', 'namespaced-reader', [{ rules: IN_NAMESPACE, namespace: beta }]],
  ] as const)('with %s can create, change or read nothing else', async (_, name, places) => {
    const { as } = await openAccount(name, places)
    const attempts = forbidden()
    expect(attempts.length).toBeGreaterThan(100)
    const answers = await Promise.all(
      attempts.map(async ([method, path, body]) => [method, path, await statusOf(as, method, path, body)] as const),
    )
    expect(answers.filter(([, , status]) => status !== 403)).toEqual([])
  })
})
