import { compile } from '../../core/compile/compile.ts'
import { orderFindings } from '../../core/compile/report.ts'
import { discover } from '../../core/discover/discover.ts'
import { MCP_KINDS } from '../../core/model/resource.ts'
import type { McpResource, Snapshot } from '../../core/model/snapshot.ts'
import { parseConfig } from '../../functions/config/config.ts'

// Compiling twice the resources should cost at most 2.2 times the time. Figures are ratios of one run, never a timed test.
const ROUNDS = 9
const BUDGET = 2.2

const parsed = parseConfig('')
if (parsed.kind === 'bad') throw new Error('the default configuration is valid')
const { discovery, publish } = parsed.config

/** A cluster as it may be: most are exported, some are not, some are wrong, and a few share a name or a URL. */
const snapshotOf = (count: number): Snapshot => {
  const resources = Array.from({ length: count }, (_, index): McpResource => {
    const annotations = new Map<string, unknown>([
      ['registry-export', index % 10 === 9 ? 'yes' : 'true'],
      [
        'registry-url',
        index % 50 === 7
          ? 'http://localhost/x'
          : `https://mcp-${index % 97}.example.com/servers/${index - (index % 100 === 3 ? 1 : 0)}`,
      ],
      ['registry-description', `Server number ${index}, which does what servers do`],
      ['tools', '["search","read","write"]'],
    ])
    return {
      kind: MCP_KINDS[index % 3] ?? 'MCPServer',
      meta: {
        namespace: `team-${index % 200}`,
        name: `server-${index - (index % 40 === 5 ? 200 : 0)}`,
        uid: `u-${index}`,
        createdAt: 1_700_000_000_000 + ((index * 7919) % 1_000_000),
        terminating: false,
        labels: new Map(),
        annotations,
      },
      transport: 'streamable-http',
      proxyMode: undefined,
      image: `ghcr.io/example/server-${index % 30}:1.0.${index % 9}`,
      remoteUrl: undefined,
      knowsItsPrefix: false,
      group: undefined,
      externalAuth: undefined,
      headerNames: [],
      privateAuthority: false,
      insecureAllowHttp: false,
      status: { phase: 'Ready', conditions: [] },
    }
  })
  return {
    source: 'cluster',
    readAs: 'cluster',
    scope: { namespaces: [], labelSelector: [] },
    resources,
    unlisted: new Map(),
    denials: [],
    unreadable: new Set(),
    groups: [],
    externalAuthConfigs: [],
    routes: [],
    gateways: [],
    gatewayClasses: [],
    listenerSets: [],
    referenceGrants: [],
    services: [],
    namespaces: [],
  }
}

const compileOnce = (snapshot: Snapshot): number => {
  const { candidates, findings } = discover(snapshot, discovery)
  const compiled = compile(
    undefined,
    {
      registry: 'default',
      hasClaims: false,
      sources: [{ name: 'cluster', hasClaims: false, observedAt: 0, isFresh: true, candidates }],
      pendingGrace: 0,
      ...publish,
    },
    1_760_000_000_000,
  )
  orderFindings([...findings, ...compiled.findings], [compiled])
  return compiled.document.entries.length
}

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0

const timed = (snapshot: Snapshot): number => {
  globalThis.gc?.()
  const start = performance.now()
  compileOnce(snapshot)
  return performance.now() - start
}

/** As many routes as resources, ten to a Gateway, all exported; every tenth has two hosts, some share a path. */
const withRoutes = (count: number): Snapshot => {
  const bare = snapshotOf(count)
  const meta = (namespace: string, name: string) => ({
    namespace,
    name,
    uid: `u-${name}`,
    createdAt: 1_700_000_000_000,
    terminating: false,
    labels: new Map(),
    annotations: new Map<string, unknown>(),
  })
  const healthy = ['Accepted', 'Programmed', 'ResolvedRefs'].map((type) => ({
    type,
    status: 'True',
    reason: type,
    message: '',
    observedGeneration: 1,
  }))
  const resources = bare.resources.map((resource, index) => ({
    ...resource,
    kind: 'MCPServer' as const,
    meta: {
      ...meta(`team-${index % 200}`, `server-${index}`),
      annotations: new Map<string, unknown>([['registry-description', `Server number ${index}`]]),
    },
  }))
  const gateways = Array.from({ length: Math.ceil(count / 10) }, (_, index) => ({
    ...{
      kind: 'Gateway' as const,
      meta: meta('infra', `gateway-${index}`),
      className: 'c',
      isDefault: false,
      allowedListeners: { from: 'None', selector: undefined },
    },
    ...{
      addresses: [{ type: 'Hostname', value: `lb-${index}.example.net` }],
      clientCertificates: { everywhere: false, ports: new Map<number, boolean>() },
      conditions: healthy,
      hasStatus: true,
    },
    listeners: [
      {
        name: 'https',
        hostname: '',
        port: 443,
        protocol: 'HTTPS',
        tlsMode: 'Terminate',
        kinds: [],
        namespaces: { from: 'All', selector: undefined },
      },
    ],
    listenerStatus: new Map([['https', { conditions: healthy, supportedKinds: undefined }]]),
  }))
  const services = resources.map(({ meta: { namespace, name, uid } }) => ({
    ...{ kind: 'Service' as const, meta: meta(namespace, `mcp-${name}-proxy`), type: 'ClusterIP', ports: [8080] },
    owners: [{ apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPServer', name, uid, controller: true }],
  }))
  const routes = resources.map(({ meta: { namespace, name } }, index) => {
    const ref = {
      group: 'gateway.networking.k8s.io',
      kind: 'Gateway',
      namespace: 'infra',
      name: `gateway-${Math.floor(index / 10)}`,
      sectionName: undefined,
      port: undefined,
    }
    const match = {
      pathType: 'PathPrefix',
      path: `/servers/${index - (index % 50 === 1 ? 1 : 0)}`,
      method: undefined,
      needsHeader: false,
      needsQueryParam: false,
    }
    const backend = {
      group: '',
      kind: 'Service',
      namespace,
      name: `mcp-${name}-proxy`,
      port: 8080,
      weight: 1,
      redirects: false,
      hasExtension: false,
      rewrite: { kind: 'none' as const },
    }
    return {
      ...{
        kind: 'HTTPRoute' as const,
        meta: { ...meta(namespace, name), annotations: new Map<string, unknown>([['registry-export', 'true']]) },
        generation: 1,
        parentRefs: [ref],
        useDefaultGateways: false,
      },
      hostnames: [`mcp-${index % 97}.example.com`, ...(index % 10 === 0 ? ['shared.example.com'] : [])],
      rules: [
        {
          matches: [match],
          backends: [backend],
          redirects: false,
          hasExtension: false,
          rewrite: { kind: 'prefix' as const, value: '/' },
        },
      ],
      status: [{ ref, controllerName: 'example.com/c', conditions: healthy }],
    }
  })
  return { ...bare, resources, gateways, services, routes }
}

const compare = (title: string, snapshotFor: (count: number) => Snapshot): void => {
  const [small, large] = [snapshotFor(5000), snapshotFor(10_000)]
  const listed = [compileOnce(small), compileOnce(large)]
  const times = { small: [] as number[], large: [] as number[] }
  // Alternating, so that a change of the machine's mood meets both.
  for (let round = 0; round < ROUNDS; round++) {
    times.small.push(timed(small))
    times.large.push(timed(large))
  }
  const ratio = median(times.large) / median(times.small)
  console.log(`${title}:  5,000  ${median(times.small).toFixed(0)} ms, ${listed[0]} listed`)
  console.log(`${title}: 10,000  ${median(times.large).toFixed(0)} ms, ${listed[1]} listed`)
  console.log(
    `${title}: ratio ${ratio.toFixed(2)} (median of ${ROUNDS}), budget ${BUDGET}: ${ratio <= BUDGET ? 'within' : 'OVER'}`,
  )
}

compare('compile resources', snapshotOf)
compare('compile resources, each with a route', withRoutes)
console.log(`memory ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB at most, budget 512`)
