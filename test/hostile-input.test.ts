import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseManifests } from '../adapters/cluster/manifests.ts'
import type { Manifests } from '../core/model/manifests.ts'
import { MCP_KINDS } from '../core/model/resource.ts'
import { compilationJson, renderCompilation } from '../functions/cli/render-compilation.ts'
import { type Compilation, compileManifests } from '../functions/compile.ts'
import { type Config, parseConfig } from '../functions/config/config.ts'
import { serverJson } from './server-json.ts'

const configOf = (text: string): Config => {
  const parsed = parseConfig(text)
  if (parsed.kind === 'bad') throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}
const config = configOf('discovery: { requireExportAnnotation: false, missingDescription: generate }')

const compileValues = (...values: readonly unknown[]): Compilation => {
  const manifests: Manifests = {
    root: 'test',
    documents: values.map((value, index) => ({ kind: 'read', file: 'test', document: index + 1, value })),
  }
  return compileManifests(config, manifests, 'manifests', 0)
}

const good = {
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind: 'MCPServer',
  metadata: {
    name: 'good',
    namespace: 'team',
    annotations: {
      'toolhive.stacklok.dev/registry-export': 'true',
      'toolhive.stacklok.dev/registry-url': 'https://mcp.example.com/good',
      'toolhive.stacklok.dev/registry-description': 'A good one',
    },
  },
}

const withAnnotations = (annotations: Record<string, unknown>, name = 'odd') => {
  const own = Object.fromEntries(
    Object.entries({ 'registry-url': `https://mcp.example.com/${name}`, ...annotations }).map(([key, value]) => [
      `toolhive.stacklok.dev/${key}`,
      value,
    ]),
  )
  return { ...good, metadata: { name, namespace: 'team', annotations: { ...good.metadata.annotations, ...own } } }
}

const withHeaders = (count: number, prefix: string) => ({
  ...withAnnotations({}),
  kind: 'MCPServerEntry',
  spec: {
    transport: 'sse',
    headerForward: {
      addPlaintextHeaders: Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, ''])),
    },
  },
})

const checkSound = (compilation: Compilation): void => {
  renderCompilation(compilation)
  const output = JSON.parse(compilationJson(compilation))
  for (const { server } of compilation.registries.flatMap(({ document }) => document.entries)) serverJson.parse(server)
  for (const { message, fix } of output.findings) {
    expect(message).toMatch(/\.$/)
    expect(message + fix).not.toMatch(/undefined|\[object|\p{Cc}|\p{Cf}/u)
    expect((message + fix).length).toBeLessThan(1500)
  }
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
}

describe('bad input gives a finding and nothing else breaks', () => {
  test.each([
    ['a 300 KB description', withAnnotations({ 'registry-description': 'x'.repeat(300_000) })],
    ['a 300 KB title', withAnnotations({ 'registry-title': 'x'.repeat(300_000) })],
    ['300 KB of tools', withAnnotations({ tools: JSON.stringify(Array.from({ length: 40_000 }, (_, i) => `t${i}`)) })],
    ['20,000 tools', withAnnotations({ tools: JSON.stringify(Array.from({ length: 20_000 }, (_, i) => `t${i}`)) })],
    ['a 300 KB URL', withAnnotations({ 'registry-url': `https://mcp.example.com/${'x'.repeat(300_000)}` })],
    ['JSON that is nested 100,000 levels', withAnnotations({ tools: '['.repeat(100_000) + ']'.repeat(100_000) })],
    ['control characters', withAnnotations({ 'registry-description': 'a\u0000b\u001b[2J\u009bc' })],
    ['a URL with credentials', withAnnotations({ 'registry-url': 'https://user:swordfish@mcp.example.com/x' })],
    ['a URL to loopback', withAnnotations({ 'registry-url': 'http://127.0.0.1/x' })],
    ['hosts that are almost addresses', withAnnotations({ 'registry-url': 'https://1.2.3.4.5../x' })],
    ['claims without a value', withAnnotations({ 'authz-claims': null })],
    ['a version that turns around', withAnnotations({ 'registry-version': '1.0.0\u202e' })],
    [
      'a label key with control characters',
      { ...good, metadata: { ...good.metadata, name: 'odd', uid: 7, labels: { '\u001b[31m\u202e': {} } } },
    ],
    ['an icon that is no URI', withAnnotations({ 'registry-icon': 'https://a.example.com/{x}|y.png' })],
    ['100,000 bad headers', withHeaders(100_000, 'bad header ')],
    ['3,000 headers', withHeaders(3000, 'x-header-')],
    ['items that are no list', { apiVersion: 'v1', kind: 'List', items: { a: good } }],
    ['annotations that are a list', { ...good, metadata: { ...good.metadata, name: 'odd', annotations: ['a'] } }],
    ['annotations of wrong types', withAnnotations({ 'registry-url': 7, 'registry-description': {}, tools: [] })],
    ['a name with control characters', { ...good, metadata: { ...good.metadata, name: 'a\u001b[2Jb' } }],
    ['__proto__ as a kind', { ...good, kind: '__proto__' }],
    [
      '__proto__ as metadata',
      JSON.parse(
        '{"apiVersion":"toolhive.stacklok.dev/v1","kind":"MCPServer","__proto__":{"polluted":true},"metadata":{"__proto__":{"polluted":true}}}',
      ),
    ],
    [
      'constructor as a namespace',
      { ...withAnnotations({}), metadata: { ...good.metadata, name: 'toString', namespace: 'constructor' } },
    ],
  ])('%s', (_, object) => {
    const compilation = compileValues(object, good)
    checkSound(compilation)
    expect(compilation.registries[0]?.document.entries.map(({ name }) => name)).toContain(
      'dev.stacklok.toolhive/team.good',
    )
    if (object.kind !== '__proto__') expect(compilation.findings.length).toBeGreaterThan(0)
    expect(compilationJson(compilation)).not.toContain('swordfish')
  })

  test('YAML that cannot be parsed names its file and document', () => {
    const documents = parseManifests('team/a.yaml', 'a: 1\n---\nb: [\n---\n- c\n')
    expect(documents.map(({ kind, document }) => [kind, document])).toEqual([
      ['read', 1],
      ['unreadable', 2],
      ['read', 3],
    ])
    const { findings } = compileManifests(config, { root: '.', documents }, 'manifests', 0)
    expect(
      findings
        .filter(({ code }) => code === 'DocumentUnreadable')
        .map((finding) => [finding.subject.name, 'document' in finding && finding.document]),
    ).toEqual([
      ['team/a.yaml', 2],
      ['team/a.yaml', 3],
    ])
  })

  test('what is wrong in a file is told without repeating it', () => {
    const files = {
      'a.json': '{"a": "hunter2" "b"}',
      'b.yaml': 'password: *hunter2',
      'c.yaml': 'password: |hunter2',
      'd.yaml': '[hunter2',
    }
    for (const [file, content] of Object.entries(files))
      expect(parseManifests(file, content)).toEqual([
        { kind: 'unreadable', file, document: 1, problem: expect.not.stringContaining('hunter2') },
      ])
  })

  test('two resources whose names begin alike are two', () => {
    const [a, b] = ['x', 'y'].map((end) =>
      withAnnotations({ 'registry-url': `https://mcp.example.com/${end}` }, `${'a'.repeat(80)}${end}`),
    )
    expect(compileValues(a, b).registries[0]?.document.entries).toHaveLength(2)
  })

  test('of two copies the one that keeps back counts', () => {
    const [open, closed] = [withAnnotations({}), withAnnotations({ 'authz-claims': '{"team":"a"}' })]
    const compilation = compileValues({ ...open, apiVersion: 'toolhive.stacklok.dev/v1alpha1' }, closed)
    expect(compilation.registries[0]?.document.entries).toEqual([])
    expect(compilation.findings.map(({ code }) => code)).toEqual(
      expect.arrayContaining(['ResourceDuplicated', 'ClaimsRestricted']),
    )
  })

  test.each([
    ['claims', { 'authz-claims': '{"team":"a"}' }],
    ['an opt-out', { 'registry-export': 'false' }],
  ])('a bare copy does not open what another copy keeps back by %s, also behind a route', (_, annotations) => {
    const bare = { ...good, apiVersion: 'toolhive.stacklok.dev/v1alpha1', metadata: { name: 'odd', namespace: 'team' } }
    const route = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'r', namespace: 'team', annotations: { 'toolhive.stacklok.dev/registry-export': 'true' } },
      spec: {
        parentRefs: [{ name: 'gw' }],
        hostnames: ['mcp.example.com'],
        rules: [{ backendRefs: [{ name: 'mcp-odd-proxy', port: 8080 }] }],
      },
    }
    const kept = {
      ...bare,
      apiVersion: good.apiVersion,
      metadata: {
        ...bare.metadata,
        annotations: Object.fromEntries(
          Object.entries(annotations).map(([key, value]) => [`toolhive.stacklok.dev/${key}`, value]),
        ),
      },
    }
    expect(compileValues(bare, route).registries[0]?.document.entries).toHaveLength(1)
    expect(compileValues(bare, kept, route).registries[0]?.document.entries).toEqual([])
  })

  test('JSON of several documents, and with a byte order mark, is read', () => {
    expect(parseManifests('a.json', '\uFEFF{"a": 1}')).toMatchObject([{ kind: 'read', value: { a: 1 } }])
    expect(parseManifests('a.json', '{"a": 1}\n---\n{"b": 2}')).toMatchObject([
      { value: { a: 1 } },
      { value: { b: 2 } },
    ])
  })

  test('a bomb of YAML aliases is refused', () => {
    const bomb = [
      'a: &a0 [x, x, x, x, x, x, x, x, x]',
      ...Array.from({ length: 9 }, (_, i) => `b${i}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`),
    ].join('\n')
    expect(parseManifests('bomb.yaml', bomb)).toEqual([expect.objectContaining({ kind: 'unreadable', document: 1 })])
  })
})

describe('random input', () => {
  const anything = fc.anything({ withNullPrototype: true, maxDepth: 4 })
  const mostly = <T>(good: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 20, arbitrary: good }, { weight: 1, arbitrary: anything })
  const keys = [
    'registry-description',
    'registry-title',
    'registry-icon',
    'registry-category',
    'registry-tier',
    'registry-version',
    'tools',
    'tool-definitions',
    'authz-claims',
  ]
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.webUrl(),
    fc.json(),
    fc.constantFrom('latest', '1.0.0', 'Official'),
  )
  const annotations = fc
    .tuple(
      fc.dictionary(fc.constantFrom(...keys), mostly(text), { maxKeys: 3 }),
      mostly(fc.constantFrom('true', 'True')),
      mostly(fc.webUrl({ withFragments: false })),
    )
    .map(([others, wanted, url]) => Object.entries({ ...others, 'registry-export': wanted, 'registry-url': url }))
    .map((entries) => Object.fromEntries(entries.map(([key, value]) => [`toolhive.stacklok.dev/${key}`, value])))
  const reference = mostly(fc.record({ name: fc.constantFrom('a', 'b') }))
  const spec = fc.record(
    {
      transport: mostly(fc.constantFrom('sse', 'stdio', 'streamable-http')),
      proxyMode: mostly(fc.constantFrom('sse', 'streamable-http')),
      image: mostly(fc.string()),
      remoteUrl: mostly(fc.webUrl()),
      groupRef: reference,
      externalAuthConfigRef: reference,
      headerForward: mostly(fc.record({ addPlaintextHeaders: fc.dictionary(fc.string(), fc.string()) })),
    },
    { requiredKeys: [] },
  )
  const metadata = fc.record({
    name: mostly(fc.stringMatching(/^[a-z]{1,3}$/)),
    namespace: mostly(fc.constantFrom('a', 'b')),
    annotations: mostly(annotations),
  })
  const resource = fc.record({
    apiVersion: fc.constant('toolhive.stacklok.dev/v1beta1'),
    kind: fc.constantFrom(...MCP_KINDS, 'MCPGroup', 'MCPExternalAuthConfig'),
    metadata: mostly(metadata),
    spec: mostly(spec),
    status: mostly(fc.constantFrom(undefined, { phase: 'Ready' }, { phase: 'Terminating' })),
  })

  test('random values never make compile throw, and what is listed is valid', () => {
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 4 }), (values) => checkSound(compileValues(...values))),
      { numRuns: 500 },
    )
  })

  test('random resources never make compile throw, and what is listed is valid', () => {
    let listed = 0
    fc.assert(
      fc.property(fc.array(resource, { maxLength: 6 }), (resources) => {
        const compilation = compileValues(...resources)
        checkSound(compilation)
        listed += compilation.registries[0]?.document.entries.length ?? 0
      }),
      { numRuns: 1500 },
    )
    // A generator that never gets anything listed would prove nothing.
    expect(listed).toBeGreaterThan(50)
  })

  test('odd hosts never make compile throw', () => {
    const part = fc.constantFrom(
      '1',
      '0x7f',
      '.',
      '..',
      'a',
      '-',
      '_',
      ':',
      '[',
      ']',
      '::',
      'ffff',
      '%',
      '０',
      'xn--',
      'localhost',
      '@',
      '/',
    )
    const host = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(host, (text) => checkSound(compileValues(withAnnotations({ 'registry-url': `https://${text}/x` })))),
      { numRuns: 1000 },
    )
  })

  test('random text never makes the reader of manifests throw', () => {
    const yaml = fc
      .array(
        fc.constantFrom(
          'a',
          ': ',
          '- ',
          '\n',
          '---\n',
          '[',
          '{',
          '}',
          '&x ',
          '*x',
          '!!',
          '|',
          '"',
          "'",
          '\t',
          '  ',
          '#',
        ),
        { maxLength: 40 },
      )
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), yaml), (content) => void parseManifests('x.yaml', content)),
      { numRuns: 2000 },
    )
  })
})
