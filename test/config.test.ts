import { describe, expect, test } from 'vitest'
import { type Config, configJsonSchema, parseConfig } from '../functions/config/config.ts'
import { parseDuration } from '../functions/config/duration.ts'

const config = (text: string, environment = {}): Config => {
  const parsed = parseConfig(text, environment)
  if (parsed.kind === 'bad') throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}
const settings = (text: string, environment = {}): readonly string[] => {
  const parsed = parseConfig(text, environment)
  return parsed.kind === 'bad' ? parsed.problems.map(({ setting }) => setting) : []
}
const problems = (text: string, environment = {}): string => {
  const parsed = parseConfig(text, environment)
  return parsed.kind === 'bad' ? parsed.problems.map(({ setting, problem }) => `${setting}: ${problem}`).join('\n') : ''
}

test('an empty file is a whole configuration', () => {
  expect(config('')).toEqual(
    config(
      'sources:\n  - { name: cluster, kubernetes: {} }\nregistries:\n  - { name: default, sources: [cluster] }\ndiscovery:\n',
    ),
  )
})

test('without registries there is one with all sources in order', () => {
  expect(config('sources: [{ name: b, kubernetes: {} }, { name: a, kubernetes: }]').registries).toEqual([
    { name: 'default', sources: ['b', 'a'], hasClaims: false },
  ])
})

describe('a wrong setting is named', () => {
  test.each([
    ['discovry: {}', 'discovry', 'discovery'],
    ['discovery: { requireExportAnotation: true }', 'discovery.requireExportAnotation', 'requireExportAnnotation'],
    ['sources: [{ name: a, kubernets: {} }]', 'sources[0].kubernets', 'kubernetes'],
    ['sources: [{ name: a, kubernetes: { namespace: [x] } }]', 'sources[0].kubernetes.namespace', 'namespaces'],
    ['discovery: { missingDescription: never }', 'discovery.missingDescription', 'auto, skip, generate'],
    ['discovery: { requireReady: "yes" }', 'discovery.requireReady', 'boolean'],
    ['publish: { tombstones: 30 days }', 'publish.tombstones', '30d'],
    ['sources: [{ name: Cluster, kubernetes: {} }]', 'sources[0].name', 'lower-case'],
    [
      'sources: [{ name: a, kubernetes: { labelSelector: "a in b" } }]',
      'sources[0].kubernetes.labelSelector',
      'selector',
    ],
    ['sources: [{ name: a }]', 'sources[0]', 'kubernetes'],
    ['sources: [{ name: a, kubernetes: {} }, { name: a, kubernetes: {} }]', 'sources', 'two are called a'],
    ['registries: [{ name: x, sources: [clutser] }]', 'registries[0].sources', 'cluster'],
    [
      'registries: [{ name: x, sources: [cluster] }, { name: x, sources: [cluster] }]',
      'registries',
      'two are called x',
    ],
    ['registries: [{ name: sources, sources: [cluster] }]', 'registries[0].name', 'sources'],
    ['registries: [{ name: x, sources: [] }]', 'registries[0].sources', 'empty'],
    ['discovery: { naming: "x.y/{name}" }', 'discovery.naming', '{namespace}'],
    ['discovery: { naming: "x.y/{namespace}-{name}" }', 'discovery.naming', 'separate'],
    ['discovery: { naming: "{namespace}.{name}" }', 'discovery.naming', 'one /'],
    ['a: [', 'the configuration', 'YAML'],
    ['- a', 'the configuration', 'map'],
  ])('%s', (text, setting, hint) => {
    expect(settings(text)).toContain(setting)
    expect(problems(text)).toContain(hint)
  })
})

test('the two namings of the documentation are valid', () => {
  for (const naming of ['dev.stacklok.toolhive/{namespace}.{name}', 'com.toolhive.k8s.{namespace}/{name}']) {
    expect(config(`discovery: { naming: "${naming}" }`).discovery.naming).toBe(naming)
  }
})

describe("proposal 001's shape", () => {
  const pasted = `
registryName: "toolhive-cluster"

registries:
  - name: "cluster-mcp-servers"
    # format is optional for kubernetes source - always produces upstream format
    kubernetes:
      # Namespace filtering (empty = all namespaces)
      namespaces: []

      # Optional label selector (standard k8s selector syntax)
      labelSelector: ""

    syncPolicy:
      interval: "30s"

auth:
  mode: oauth
  # ... standard auth config
`
  test('is accepted as it is: one registry, whose sources are its registries', () => {
    expect(config(pasted)).toMatchObject({
      registries: [{ name: 'toolhive-cluster', sources: ['cluster-mcp-servers'] }],
      auth: { mode: 'oauth' },
    })
  })

  test('may watch', () => {
    const text =
      'registryName: r\nregistries:\n  - name: c\n    format: upstream\n    kubernetes:\n      namespaces: []\n      labelSelector: team=a\n      watch:\n        enabled: true\n        debounceInterval: "1s"\n'
    expect(config(text).sources[0]?.scope.labelSelector).toHaveLength(1)
  })

  test('names what is wrong by where it stands', () => {
    expect(problems('registryName: r\nregistries: [{ name: c, kubernets: {} }]')).toContain(
      'registries[0].kubernets: is not a setting; did you mean kubernetes?',
    )
  })
})

describe('the environment', () => {
  test('overrides single settings', () => {
    expect(
      config('discovery: { requireReady: false }', {
        WAYPOST_DISCOVERY_REQUIRE_READY: 'true',
        WAYPOST_PUBLISH_TOMBSTONES: '1d',
        HOME: '/',
      }),
    ).toMatchObject({
      discovery: { requireReady: true },
      publish: { tombstones: 86_400_000 },
    })
  })

  test('is refused where it is not known, with the nearest that is', () => {
    expect(problems('', { WAYPOST_DISCOVERY_REQUIRE_REDAY: 'true' })).toContain('WAYPOST_DISCOVERY_REQUIRE_READY')
    expect(problems('', { WAYPOST_DISCOVERY_REQUIRE_READY: 'maybe' })).toContain('boolean')
  })
})

test('the JSON Schema for editors knows every section and refuses what is unknown', () => {
  const schema = configJsonSchema()
  expect(Object.keys(schema.properties ?? {})).toEqual([
    'registries',
    'sources',
    'discovery',
    'publish',
    'watch',
    'report',
    'serve',
    'auth',
  ])
  expect(schema.additionalProperties).toBe(false)
})

test.each([
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['30d', 2_592_000_000],
  ['0.5s', 500],
  ['250ms', 250],
  ['', undefined],
  ['5', undefined],
  ['5 m', undefined],
  ['-1s', undefined],
  ['3651d', undefined],
  [`${'9'.repeat(400)}d`, undefined],
])('%s lasts %s ms', (text, expected) => {
  expect(parseDuration(text)).toBe(expected)
})
