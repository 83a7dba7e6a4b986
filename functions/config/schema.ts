import * as z from 'zod'
import { isServerName } from '../../core/model/entry.ts'
import { parseSelector } from '../../core/model/selector.ts'
import { parseDuration } from './duration.ts'

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and -, and start with a letter or a digit')
const duration = z
  .string()
  .refine(
    (text) => parseDuration(text) !== undefined,
    'must be a duration such as 30s, 10m, 1h30m or 30d, at most 3650d',
  )
const claims = z
  .record(z.string(), z.unknown())
  .meta({ description: 'Who may see it. Until private registries are built, nothing with claims is published.' })

const hostLabel = z.string().regex(/^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$/, 'must be a label of a hostname')

const naming = z
  .string()
  .refine(
    (text) => text.split('{namespace}').length === 2 && text.split('{name}').length === 2,
    'must contain {namespace} and {name} once',
  )
  .refine(
    (text) => /\{namespace\}[^{}]*[^a-z0-9{}-][^{}]*\{name\}|\{name\}[^{}]*[^a-z0-9{}-][^{}]*\{namespace\}/.test(text),
    'must separate {namespace} and {name} by a character that a namespace cannot contain, such as . or /',
  )
  .refine(
    (text) => isServerName(text.replace('{namespace}', 'ns0').replace('{name}', 'nm0')),
    'must give a server name: two halves with one / between them, of letters, digits, . - and (in the second) _',
  )

const kubernetes = z
  .strictObject({
    namespaces: z
      .array(z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be the name of a namespace'))
      .refine((names) => new Set(names).size === names.length, 'names a namespace twice')
      .default([])
      .meta({ description: 'Namespaces to read; none means all.' }),
    gatewayApi: z.boolean().default(true).meta({ description: 'false: HTTPRoutes and Gateways are not looked at.' }),
    labelSelector: z
      .string()
      .refine(
        (text) => parseSelector(text).kind === 'selector',
        'must be a label selector such as app=mcp,tier in (a,b)',
      )
      .default('')
      .meta({ description: 'Which MCP resources to take, as kubectl -l takes it.' }),
    kubeconfig: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "A path. Default: WAYPOST_KUBECONFIG, KUBECONFIG, ~/.kube/config, or the pod's account." }),
    context: z.string().min(1).optional().meta({ description: 'Which context of it. Default: the current one.' }),
  })
  .nullish()

const syncPolicy = z.strictObject({ interval: duration })

const sourceSchema = z.strictObject({
  name,
  kubernetes,
  syncPolicy: syncPolicy.optional(),
  claims: claims.optional(),
})

const registryName = name.refine((text) => text !== 'sources', 'must not be sources, which is a folder of the store')

/** A misspelt mode must not open a registry. What private registries need is not judged before they are built. */
const auth = z
  .looseObject({ mode: z.enum(['anonymous', 'oauth']).default('anonymous') })
  .superRefine(({ mode, ...others }, context) => {
    const keys = Object.keys(others)
    if (mode === 'anonymous' && keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: others })
  })
  .meta({ description: 'Who may read. serve refuses anything but anonymous until private registries are built.' })

const settings = {
  discovery: z
    .strictObject({
      naming: naming.default('dev.stacklok.toolhive/{namespace}.{name}').meta({
        description:
          'How a resource is called; com.toolhive.k8s.{namespace}/{name} is what toolhive-registry-server uses.',
      }),
      requireExportAnnotation: z.boolean().default(true).meta({ description: 'false: a registry-url alone opts in.' }),
      requireReady: z.boolean().default(false).meta({ description: 'true: only resources in phase Ready are listed.' }),
      missingDescription: z
        .enum(['auto', 'skip', 'generate'])
        .default('auto')
        .meta({ description: 'What becomes of a resource without a description.' }),
      versionFrom: z
        .enum(['annotation', 'image'])
        .default('annotation')
        .meta({ description: 'image: without a registry-version, a semver image tag is the version.' }),
      endpoint: z
        .enum(['base', 'transport'])
        .default('base')
        .meta({ description: 'transport: /mcp or /sse is added to the URL of a route.' }),
      pendingGrace: duration
        .default('10m')
        .meta({ description: 'How long a listed URL stays when its route or Gateway is not ready for the moment.' }),
      staleStatus: z
        .enum(['pending', 'warn'])
        .default('pending')
        .meta({ description: 'warn: a route whose status lags behind is listed all the same.' }),
      requireAddress: z
        .boolean()
        .default(true)
        .meta({ description: 'false: a Gateway needs no address in its status.' }),
      wildcardLabel: hostLabel
        .default('')
        .meta({ description: 'What stands for * where a route has only a wildcard hostname.' }),
      gateways: z
        .record(
          z.string().regex(/^[a-z0-9-]+\/[a-z0-9.-]+$/, 'must be the NAMESPACE/NAME of a Gateway'),
          z.strictObject({
            scheme: z.enum(['https', 'http']).optional(),
            ports: z
              .record(z.string().regex(/^\d+$/, 'must be the port of a listener'), z.int().min(1).max(65535))
              .optional(),
            wildcardLabel: hostLabel.optional(),
          }),
        )
        .default({})
        .meta({ description: 'What is known of the load balancer in front of a Gateway, by NAMESPACE/NAME.' }),
      allowPrivateEndpoints: z
        .boolean()
        .default(false)
        .meta({ description: 'true: private addresses may be published.' }),
    })
    .prefault({}),
  publish: z
    .strictObject({
      store: z
        .string()
        .regex(
          /^(file:.|memory:|s3:\/\/.|r2:\/\/.|azblob:\/\/.)/,
          'must be a URL such as file:FOLDER, s3://BUCKET/PREFIX, r2://BINDING/PREFIX or azblob://ACCOUNT/CONTAINER/PREFIX',
        )
        .default('file:.waypost')
        .meta({ description: 'Where the registry is published: file:, s3://, r2:// or azblob://.' }),
      maxShrink: z
        .number()
        .min(0, 'must be a share from 0 to 1')
        .max(1, 'must be a share from 0 to 1')
        .default(0.5)
        .meta({
          description: 'Which share of the servers of a source may vanish at once; fewer than five always may.',
        }),
      keep: z
        .number()
        .refine(
          (count) => Number.isInteger(count) && count >= 1 && count <= 10_000,
          'must be a whole number from 1 to 10000',
        )
        .default(20)
        .meta({ description: 'How many publications are kept to go back to; those of the last day always are.' }),
      tombstones: duration.default('30d').meta({ description: 'How long a removed server is remembered.' }),
      kubernetesMetadata: z
        .enum(['minimal', 'full'])
        .default('minimal')
        .meta({ description: 'full: uid and image are published too.' }),
    })
    .prefault({}),
  watch: z
    .strictObject({
      debounce: duration.default('1s').meta({ description: 'How long to wait for more changes after the first one.' }),
      lease: z
        .union([
          z.literal(false),
          z.strictObject({
            name: z.string().min(1).default('waypost'),
            namespace: z.string().min(1).default('toolhive-system'),
            duration: duration.default('15s'),
            renewDeadline: duration.default('10s'),
            retryPeriod: duration.default('2s'),
          }),
        ])
        .prefault({})
        .meta({ description: 'By which Lease one of several replicas publishes; false: there is only one.' }),
    })
    .prefault({}),
  report: z
    .strictObject({
      events: z
        .boolean()
        .default(false)
        .meta({ description: 'true: owners are told by a Kubernetes Event why a resource is not listed as it asks.' }),
    })
    .prefault({}),
  serve: z
    .strictObject({
      maxAge: duration
        .default('30s')
        .meta({ description: 'How old an answer may be before the store is asked for a newer publication.' }),
      staleAfter: duration
        .default('1h')
        .meta({ description: 'After how long without a sync /readyz says stale. Nothing is taken down by it.' }),
    })
    .prefault({}),
  auth: auth.prefault({}),
}

/** `waypost.yaml`. The one place where a setting is declared: types, defaults, checks and the editors' schema come from it. */
export const configSchema = z.strictObject({
  registries: z
    .array(z.strictObject({ name: registryName, sources: z.array(name).min(1), claims: claims.optional() }))
    .min(1)
    .optional()
    .meta({
      description:
        'The first is served at /v0.1, each at /registry/{name}/v0.1. Default: one, default, with all sources.',
    }),
  sources: z
    .array(sourceSchema)
    .min(1)
    .prefault([{ name: 'cluster', kubernetes: {} }])
    .meta({ description: 'Default: one kubernetes source, cluster.' }),
  ...settings,
})

/** The shape of proposal 001: one registry, whose sources are `registries`. */
export const singleRegistrySchema = z.strictObject({
  registryName,
  registries: z
    .array(
      sourceSchema.extend({
        format: z.enum(['upstream', 'toolhive']).optional(),
        kubernetes: kubernetes
          .unwrap()
          .unwrap()
          .extend({ watch: z.strictObject({ enabled: z.boolean(), debounceInterval: duration.optional() }).optional() })
          .nullish(),
      }),
    )
    .min(1),
  ...settings,
})

export type ConfigFile = z.infer<typeof configSchema>
