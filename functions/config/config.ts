import { parseDocument } from 'yaml'
import * as z from 'zod'
import type { KubernetesMetadata } from '../../core/compile/compose-server.ts'
import type { DiscoveryOptions } from '../../core/discover/options.ts'
import { isMap } from '../../core/model/is-map.ts'
import { parseSelector } from '../../core/model/selector.ts'
import type { Scope } from '../../core/model/snapshot.ts'
import { yamlProblem } from '../../core/model/yaml-problem.ts'
import type { ClusterAccess, ClusterQuestion, LeaseOptions } from '../../core/ports.ts'
import { nearest } from '../nearest.ts'
import { parseDuration } from './duration.ts'
import { environmentOverrides } from './environment.ts'
import { type ConfigProblem, configProblems, type JsonSchema } from './problems.ts'
import { type ConfigFile, configSchema, singleRegistrySchema } from './schema.ts'

export type SourceConfig = {
  readonly name: string
  readonly hasClaims: boolean
  readonly gatewayApi: boolean
  readonly scope: Scope
  readonly access: ClusterAccess
  /** How often it is read though nothing seems to have changed. */
  readonly interval: number | undefined
}
/** What a source asks of its cluster. */
export const questionOf = ({ name, scope, gatewayApi }: SourceConfig): ClusterQuestion => ({
  source: name,
  scope,
  gatewayApi,
})

export type RegistryConfig = { readonly name: string; readonly hasClaims: boolean; readonly sources: readonly string[] }

/** The configuration with everything that was left out filled in. */
export type Config = {
  readonly registries: readonly [RegistryConfig, ...RegistryConfig[]]
  readonly sources: readonly SourceConfig[]
  readonly discovery: DiscoveryOptions & { readonly pendingGrace: number }
  readonly publish: {
    readonly store: string
    readonly maxShrink: number
    readonly keep: number
    readonly tombstones: number
    readonly kubernetesMetadata: KubernetesMetadata
  }
  readonly watch: { readonly debounce: number; readonly lease: LeaseOptions | undefined }
  readonly report: { readonly events: boolean }
  readonly serve: { readonly maxAge: number; readonly staleAfter: number }
  readonly auth: { readonly mode: 'anonymous' | 'oauth' }
}

export type ParsedConfig =
  | { readonly kind: 'config'; readonly config: Config }
  | { readonly kind: 'bad'; readonly problems: readonly ConfigProblem[] }

const bad = (...problems: readonly ConfigProblem[]): ParsedConfig => ({ kind: 'bad', problems })

/** For editors: `# yaml-language-server: $schema=…`. */
export const configJsonSchema = (): JsonSchema => z.toJSONSchema(configSchema, { io: 'input' })

/** 001's one registry becomes ours. `format` is detected, and whether to watch is the command's to say. */
const fromSingleRegistry = (file: z.infer<typeof singleRegistrySchema>): ConfigFile => {
  const { registryName, registries, ...settings } = file
  const sources = registries.map(({ name, kubernetes, syncPolicy, claims }) => ({
    name,
    kubernetes: kubernetes && {
      namespaces: kubernetes.namespaces,
      gatewayApi: kubernetes.gatewayApi,
      labelSelector: kubernetes.labelSelector,
      ...(kubernetes.kubeconfig !== undefined && { kubeconfig: kubernetes.kubeconfig }),
      ...(kubernetes.context !== undefined && { context: kubernetes.context }),
    },
    ...(syncPolicy && { syncPolicy }),
    ...(claims && { claims }),
  }))
  const [debounce] = registries.flatMap(({ kubernetes }) => kubernetes?.watch?.debounceInterval ?? [])
  const watch = debounce === undefined ? settings.watch : { ...settings.watch, debounce }
  return { ...settings, watch, sources, registries: [{ name: registryName, sources: sources.map(({ name }) => name) }] }
}

const twice = (names: readonly string[]): string | undefined =>
  names.find((name, index) => names.indexOf(name) !== index)

const crossProblems = (file: ConfigFile): readonly ConfigProblem[] => {
  const sources = file.sources.map(({ name }) => name)
  const problems: ConfigProblem[] = [...leaseProblems(file)]
  const source = twice(sources)
  if (source !== undefined)
    problems.push({ setting: 'sources', problem: `two are called ${source}; each needs a name of its own` })
  for (const [index, { kubernetes }] of file.sources.entries()) {
    if (kubernetes === undefined)
      problems.push({ setting: `sources[${index}]`, problem: 'has no kind; add kubernetes: {}' })
  }
  const registry = twice((file.registries ?? []).map(({ name }) => name))
  if (registry !== undefined)
    problems.push({ setting: 'registries', problem: `two are called ${registry}; each needs a name of its own` })
  for (const [index, { sources: wanted }] of (file.registries ?? []).entries()) {
    const again = twice(wanted)
    if (again !== undefined) problems.push({ setting: `registries[${index}].sources`, problem: `names ${again} twice` })
    for (const name of wanted.filter((each) => !sources.includes(each))) {
      const [meant] = nearest(name, sources)
      problems.push({
        setting: `registries[${index}].sources`,
        problem: `${name} is no source; ${meant === undefined ? `there are ${sources.join(', ')}` : `did you mean ${meant}?`}`,
      })
    }
  }
  return problems
}

const leaseOf = (lease: ConfigFile['watch']['lease']): LeaseOptions | undefined =>
  lease === false
    ? undefined
    : {
        ...lease,
        duration: parseDuration(lease.duration) ?? 0,
        renewDeadline: parseDuration(lease.renewDeadline) ?? 0,
        retryPeriod: parseDuration(lease.retryPeriod) ?? 0,
      }

/** A holder must notice that it lost the lease before another may take it, and try more than once until then. */
const leaseProblems = ({ watch }: ConfigFile): readonly ConfigProblem[] => {
  const lease = leaseOf(watch.lease)
  if (
    lease === undefined ||
    (lease.duration > lease.renewDeadline && lease.renewDeadline > lease.retryPeriod && lease.retryPeriod > 0)
  )
    return []
  return [
    { setting: 'watch.lease', problem: 'duration must be longer than renewDeadline, and that longer than retryPeriod' },
  ]
}

const complete = (file: ConfigFile): Config => {
  const [first = { name: 'default', sources: file.sources.map(({ name }) => name), claims: undefined }, ...others] =
    file.registries ?? []
  const registryOf = ({ name, sources, claims }: typeof first): RegistryConfig => ({
    name,
    sources,
    hasClaims: claims !== undefined,
  })
  return {
    registries: [registryOf(first), ...others.map(registryOf)],
    sources: file.sources.map(({ name, kubernetes, claims, syncPolicy }) => {
      const parsed = parseSelector(kubernetes?.labelSelector ?? '')
      return {
        name,
        hasClaims: claims !== undefined,
        gatewayApi: kubernetes?.gatewayApi ?? true,
        scope: {
          namespaces: kubernetes?.namespaces ?? [],
          labelSelector: parsed.kind === 'selector' ? parsed.selector : [],
        },
        access: {
          ...(kubernetes?.kubeconfig !== undefined && { kubeconfig: kubernetes.kubeconfig }),
          ...(kubernetes?.context !== undefined && { context: kubernetes.context }),
        },
        interval: syncPolicy && parseDuration(syncPolicy.interval),
      }
    }),
    discovery: { ...file.discovery, pendingGrace: parseDuration(file.discovery.pendingGrace) ?? 0 },
    publish: { ...file.publish, tombstones: parseDuration(file.publish.tombstones) ?? 0 },
    watch: { debounce: parseDuration(file.watch.debounce) ?? 0, lease: leaseOf(file.watch.lease) },
    report: file.report,
    serve: {
      maxAge: parseDuration(file.serve.maxAge) ?? 0,
      staleAfter: parseDuration(file.serve.staleAfter) ?? 0,
    },
    auth: { mode: file.auth.mode },
  }
}

const readYaml = (text: string): { readonly value: unknown } | { readonly problem: string } => {
  const document = parseDocument(text, { logLevel: 'error' })
  const [error] = document.errors
  return error === undefined ? { value: document.toJS() ?? {} } : { problem: yamlProblem(error) }
}

/** Reads `waypost.yaml`, in our shape or in 001's, and the `WAYPOST_*` variables that override single values. */
export const parseConfig = (
  text: string,
  environment: Readonly<Record<string, string | undefined>> = {},
): ParsedConfig => {
  const read = readYaml(text)
  if ('problem' in read) return bad({ setting: 'the configuration', problem: `is not YAML: ${read.problem}` })
  if (!isMap(read.value)) return bad({ setting: 'the configuration', problem: 'must be a map of settings' })
  const overrides = environmentOverrides(environment, configJsonSchema())
  if (overrides.problems.length > 0) return bad(...overrides.problems)
  // A section whose lines are all commented out is null.
  const value = overrides.apply(
    Object.fromEntries(Object.entries(read.value).filter(([, section]) => section !== null)),
  )

  const isSingle = 'registryName' in value
  const parsed = isSingle ? singleRegistrySchema.safeParse(value) : configSchema.safeParse(value)
  if (!parsed.success) {
    const schema = z.toJSONSchema(isSingle ? singleRegistrySchema : configSchema, { io: 'input' })
    return bad(
      ...configProblems(parsed.error, value, schema).map(({ setting, problem }) => ({
        setting: overrides.variableOf(setting) ?? setting,
        problem,
      })),
    )
  }
  const file = 'registryName' in parsed.data ? fromSingleRegistry(parsed.data) : parsed.data
  const problems = crossProblems(file)
  return problems.length > 0 ? bad(...problems) : { kind: 'config', config: complete(file) }
}
