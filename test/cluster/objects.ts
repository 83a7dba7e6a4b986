import type { Admin, KeptObject } from './admin.ts'

// What teams, the operator and the controller of a Gateway do, one step at a time. Neither runs here.

export const TOOLHIVE = 'toolhive.stacklok.dev/v1beta1'
export const GATEWAY = 'gateway.networking.k8s.io/v1'

export type Place = { readonly namespace: string; readonly name: string }
type Annotations = Readonly<Record<string, string | null>>

const CONTROLLER = 'example.com/waypost-test'
const PORT = 8080

/** Of ours, by the rest of the key. As a patch, null takes one away. */
export const annotations = (values: Annotations): Readonly<Record<string, string | null>> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`toolhive.stacklok.dev/${key}`, value]))

export const annotate = (
  admin: Admin,
  apiVersion: string,
  plural: string,
  place: Place,
  values: Annotations,
): Promise<KeptObject> => admin.patch(apiVersion, plural, place, { metadata: { annotations: annotations(values) } })

export const createServer = (
  admin: Admin,
  place: Place,
  { labels = {}, ...own }: { readonly labels?: object; readonly annotations?: Annotations } = {},
): Promise<KeptObject> =>
  admin.create(TOOLHIVE, 'mcpservers', {
    kind: 'MCPServer',
    metadata: { ...place, labels, annotations: annotations(own.annotations ?? {}) },
    spec: { image: 'registry.example.com/mcp:1.0.0', transport: 'streamable-http' },
  })

/** As the operator makes it for an MCPServer, or as anybody makes one. */
export const createService = (admin: Admin, place: Place, owner?: KeptObject): Promise<KeptObject> =>
  admin.create('v1', 'services', {
    kind: 'Service',
    metadata: {
      ...place,
      ...(owner !== undefined && {
        ownerReferences: [
          {
            apiVersion: TOOLHIVE,
            kind: 'MCPServer',
            name: owner.metadata.name,
            uid: owner.metadata.uid,
            controller: true,
          },
        ],
      }),
    },
    spec: { ports: [{ port: PORT }] },
  })

export const createGatewayClass = (admin: Admin, name: string): Promise<KeptObject> =>
  admin.create(GATEWAY, 'gatewayclasses', {
    kind: 'GatewayClass',
    metadata: { name },
    spec: { controllerName: CONTROLLER },
  })

const HTTPS = {
  name: 'https',
  protocol: 'HTTPS',
  port: 443,
  tls: { mode: 'Terminate', certificateRefs: [{ name: 'certificate' }] },
}

/** Without `team` it takes routes and ListenerSets of every namespace, else those of namespaces with that label. */
export const createGateway = (
  admin: Admin,
  place: Place,
  gatewayClassName: string,
  team?: string,
): Promise<KeptObject> => {
  const namespaces =
    team === undefined ? { from: 'All' } : { from: 'Selector', selector: { matchLabels: { 'example.com/team': team } } }
  return admin.create(GATEWAY, 'gateways', {
    kind: 'Gateway',
    metadata: place,
    spec: {
      gatewayClassName,
      listeners: [{ ...HTTPS, allowedRoutes: { namespaces } }],
      allowedListeners: { namespaces },
    },
  })
}

export const createListenerSet = (admin: Admin, place: Place, gateway: Place, hostname: string): Promise<KeptObject> =>
  admin.create(GATEWAY, 'listenersets', {
    kind: 'ListenerSet',
    metadata: place,
    spec: {
      parentRef: gateway,
      listeners: [{ ...HTTPS, hostname, allowedRoutes: { namespaces: { from: 'All' } } }],
    },
  })

const condition = (type: string, status: string, observedGeneration: unknown) => ({
  type,
  status,
  reason: status === 'True' ? type : 'Test',
  message: '',
  lastTransitionTime: new Date().toISOString(),
  observedGeneration,
})

const found = async (admin: Admin, plural: string, place: Place): Promise<KeptObject> => {
  const object = await admin.get(GATEWAY, plural, place)
  if (object === undefined) throw new Error(`there is no ${plural} ${place.namespace}/${place.name}`)
  return object
}

/** The controller takes a Gateway or a ListenerSet, and gives it these addresses. */
const take = async (admin: Admin, plural: string, place: Place, more: object): Promise<void> => {
  const { generation } = (await found(admin, plural, place)).metadata
  const conditions = [condition('Accepted', 'True', generation), condition('Programmed', 'True', generation)]
  const supportedKinds = [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute' }]
  await admin.patchStatus(GATEWAY, plural, place, {
    conditions,
    listeners: [{ name: 'https', attachedRoutes: 1, supportedKinds, conditions }],
    ...more,
  })
}

export const takeGateway = (admin: Admin, place: Place, ...hosts: readonly string[]): Promise<void> =>
  take(admin, 'gateways', place, { addresses: hosts.map((value) => ({ type: 'Hostname', value })) })

export const takeListenerSet = (admin: Admin, place: Place): Promise<void> => take(admin, 'listenersets', place, {})

export const createRoute = (
  admin: Admin,
  place: Place,
  {
    parent,
    backend,
    path,
  }: { readonly parent: Place & { readonly kind?: string }; readonly backend: Place; readonly path: string },
  values: Annotations = {},
): Promise<KeptObject> =>
  admin.create(GATEWAY, 'httproutes', {
    kind: 'HTTPRoute',
    metadata: { ...place, annotations: annotations(values) },
    spec: {
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent }],
      rules: rulesTo(path, backend),
    },
  })

export const rulesTo = (path: string, { namespace, name }: Place) => [
  { matches: [{ path: { type: 'PathPrefix', value: path } }], backendRefs: [{ namespace, name, port: PORT }] },
]

/** The controller says of a route as it is now, to each of its parents, whether it accepts it. */
export const judgeRoute = async (admin: Admin, place: Place, accepted: 'True' | 'False' | 'Unknown'): Promise<void> => {
  const route = await found(admin, 'httproutes', place)
  const { parentRefs } = route.spec as { readonly parentRefs: readonly object[] }
  const { generation } = route.metadata
  const conditions = [condition('Accepted', accepted, generation), condition('ResolvedRefs', 'True', generation)]
  await admin.patchStatus(GATEWAY, 'httproutes', place, {
    parents: parentRefs.map((parentRef) => ({ parentRef, controllerName: CONTROLLER, conditions })),
  })
}

/** Lets the HTTPRoutes of a namespace lead to the Services of another. */
export const grantServices = (admin: Admin, place: Place, from: string): Promise<KeptObject> =>
  admin.create(GATEWAY, 'referencegrants', {
    kind: 'ReferenceGrant',
    metadata: place,
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: from }],
      to: [{ group: '', kind: 'Service' }],
    },
  })

/** An MCPServer, its Service, and an accepted route to it that asks for it to be listed. */
export const exposeServer = async (
  admin: Admin,
  place: Place,
  parent: Place & { readonly kind?: string },
  labels: object = {},
): Promise<void> => {
  await createService(admin, place, await createServer(admin, place, { labels }))
  await createRoute(admin, place, { parent, backend: place, path: `/${place.name}` }, { 'registry-export': 'true' })
  await judgeRoute(admin, place, 'True')
}
