// What is published before, by and after a sync that is killed.

export type Objects = readonly unknown[]
export type Given = { readonly config: string; readonly objects: Objects }

export type Crash = {
  readonly title: string
  readonly before: readonly (Given & { readonly hoursAgo: number })[]
  readonly killed: Given
  /** What the sync after it sees; each is another future of the same past. */
  readonly next: readonly Given[]
}

export const T0 = Date.parse('2026-01-10T12:00:00Z')
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

const server = (name: string, namespace = 'team', words = `Server ${name}`) => ({
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind: 'MCPServer',
  metadata: {
    name,
    namespace,
    annotations: {
      'toolhive.stacklok.dev/registry-export': 'true',
      'toolhive.stacklok.dev/registry-url': `https://mcp.example.com/${namespace}/${name}`,
      'toolhive.stacklok.dev/registry-description': words,
    },
  },
  spec: { transport: 'streamable-http' },
})
const broken = { ...server('no-url'), metadata: { name: 'no-url', namespace: 'team' } }

/** Two registries share a source, so that a sync can end between them. Little is kept, so that there is much to remove. */
const TWO = `
sources: [{ name: a, kubernetes: { namespaces: [team] } }, { name: b, kubernetes: { namespaces: [other] } }]
registries: [{ name: one, sources: [a] }, { name: two, sources: [a, b] }]
publish: { keep: 1 }`
const routed = (gatewayApi: boolean): string =>
  `sources: [{ name: a, kubernetes: { gatewayApi: ${gatewayApi} } }]\nregistries: [{ name: one, sources: [a] }]`

const GATEWAY = 'gateway.networking.k8s.io/v1'
const gateway = {
  apiVersion: GATEWAY,
  kind: 'Gateway',
  metadata: { name: 'external', namespace: 'team' },
  spec: { gatewayClassName: 'any', listeners: [{ name: 'https', protocol: 'HTTPS', port: 443 }] },
}
const behindGateway = (name: string): Objects => [
  {
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    kind: 'MCPServer',
    metadata: { name, namespace: 'team' },
    spec: { transport: 'streamable-http' },
  },
  {
    apiVersion: GATEWAY,
    kind: 'HTTPRoute',
    metadata: {
      name,
      namespace: 'team',
      annotations: {
        'toolhive.stacklok.dev/registry-export': 'true',
        'toolhive.stacklok.dev/registry-description': `Server ${name}`,
      },
    },
    spec: {
      parentRefs: [{ name: 'external' }],
      hostnames: [`${name}.example.com`],
      rules: [{ backendRefs: [{ name: `mcp-${name}-proxy`, port: 8080 }] }],
    },
  },
]
const many = [server('alpha'), gateway, ...Array.from({ length: 8 }, (_, index) => behindGateway(`s${index}`)).flat()]

const other = server('elsewhere', 'other')
const atFirst = [server('alpha'), server('beta'), server('gamma'), other, broken]
const later = [server('alpha', 'team', 'Alpha in other words'), server('beta'), server('delta'), other, broken]
const latest = [server('alpha'), server('beta', 'team', 'Beta in other words'), server('epsilon'), other]

// Two publications that are too old to be kept: the one is marked already and will be deleted, the other is marked now.
const HISTORY = [
  { hoursAgo: 60, config: TWO, objects: [server('alpha', 'team', 'Alpha of old'), other] },
  { hoursAgo: 59, config: TWO, objects: [server('alpha'), server('beta'), other] },
  { hoursAgo: 30, config: TWO, objects: atFirst },
]

export const CRASHES: readonly Crash[] = [
  {
    title: 'the first sync',
    before: [],
    killed: { config: TWO, objects: atFirst },
    next: [{ config: TWO, objects: atFirst }],
  },
  {
    title: 'a sync with changes',
    before: HISTORY,
    killed: { config: TWO, objects: later },
    next: [
      { config: TWO, objects: later },
      { config: TWO, objects: latest },
    ],
  },
  {
    title: 'a sync that asks for less',
    before: [{ hoursAgo: 1, config: routed(true), objects: many }],
    killed: { config: routed(false), objects: many },
    next: [
      { config: routed(false), objects: many },
      { config: routed(false), objects: [...many, server('beta')] },
    ],
  },
]
