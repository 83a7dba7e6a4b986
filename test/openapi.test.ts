import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseManifests } from '../adapters/cluster/manifests.ts'
import { docsPage } from '../functions/api/docs-page.ts'
import { renderHealth } from '../functions/api/health.ts'
import { ERROR_CODES, type OpenApiDocument, openApiDocument, openApiJson } from '../functions/api/openapi.ts'
import { compileManifests } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'

const document = openApiDocument('0.1.0')
const served: OpenApiDocument = JSON.parse(openApiJson('0.1.0'))
const operations = Object.entries(served.paths).map(([path, { get }]) => ({ path, get }))

const createAjv = (strictTypes = true) => {
  const ajv = new Ajv2020({ strict: true, strictTypes, strictRequired: false })
  addFormats.default(ajv)
  return ajv
}

/** Is this a body as the document has it? */
const validatorOf = (schema: string) => {
  const ajv = createAjv().addVocabulary(['components'])
  ajv.addSchema({ $id: 'api:', components: served.components })
  return ajv.compile({ $ref: `api:#/components/schemas/${schema}` })
}

/** What OpenAPI 3.1 asks of the parts that we use; no field that we do not use is allowed. */
const SHAPE = {
  $defs: {
    ref: {
      type: 'object',
      required: ['$ref'],
      properties: { $ref: { type: 'string' } },
      additionalProperties: false,
    },
    content: {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: '^[a-z]+/[a-z]+$' },
      additionalProperties: {
        type: 'object',
        required: ['schema'],
        properties: { schema: { type: 'object' } },
        additionalProperties: false,
      },
    },
    response: {
      type: 'object',
      required: ['description'],
      properties: {
        description: { type: 'string', minLength: 1 },
        headers: { type: 'object', additionalProperties: { $ref: '#/$defs/ref' } },
        content: { $ref: '#/$defs/content' },
      },
      additionalProperties: false,
    },
    parameter: {
      type: 'object',
      required: ['name', 'in', 'description', 'schema'],
      properties: {
        name: { type: 'string' },
        in: { enum: ['path', 'query'] },
        required: { type: 'boolean' },
        description: { type: 'string', minLength: 1 },
        schema: { type: 'object' },
        example: {},
      },
      if: { properties: { in: { const: 'path' } } },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so
      then: { properties: { required: { const: true } }, required: ['required'] },
      additionalProperties: false,
    },
    operation: {
      type: 'object',
      required: ['operationId', 'tags', 'description', 'responses'],
      properties: {
        operationId: { type: 'string', pattern: '^[A-Za-z0-9]+$' },
        tags: { type: 'array', minItems: 1, items: { type: 'string' } },
        description: { type: 'string', minLength: 1 },
        parameters: { type: 'array', uniqueItems: true, items: { $ref: '#/$defs/ref' } },
        responses: {
          type: 'object',
          propertyNames: { pattern: '^[2345][0-9][0-9]$' },
          additionalProperties: { anyOf: [{ $ref: '#/$defs/ref' }, { $ref: '#/$defs/response' }] },
        },
      },
      additionalProperties: false,
    },
    header: {
      type: 'object',
      required: ['description', 'schema'],
      properties: { description: { type: 'string' }, schema: { type: 'object' } },
      additionalProperties: false,
    },
    named: { type: 'object', propertyNames: { pattern: '^[a-zA-Z0-9._-]+$' } },
  },
  type: 'object',
  required: ['openapi', 'info', 'tags', 'paths', 'components'],
  properties: {
    openapi: { const: '3.1.0' },
    info: {
      type: 'object',
      required: ['title', 'version', 'description'],
      properties: {
        title: { type: 'string' },
        version: { type: 'string' },
        description: { type: 'string' },
        license: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string' }, identifier: { type: 'string' } },
          additionalProperties: false,
        },
      },
      patternProperties: { '^x-': {} },
      additionalProperties: false,
    },
    tags: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, description: { type: 'string' } },
        additionalProperties: false,
      },
    },
    paths: {
      type: 'object',
      propertyNames: { pattern: '^/' },
      additionalProperties: {
        type: 'object',
        required: ['get'],
        properties: { get: { $ref: '#/$defs/operation' } },
        additionalProperties: false,
      },
    },
    components: {
      type: 'object',
      properties: {
        parameters: { $ref: '#/$defs/named', additionalProperties: { $ref: '#/$defs/parameter' } },
        responses: { $ref: '#/$defs/named', additionalProperties: { $ref: '#/$defs/response' } },
        headers: { $ref: '#/$defs/named', additionalProperties: { $ref: '#/$defs/header' } },
        schemas: { $ref: '#/$defs/named' },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
}

const refsIn = (value: unknown): readonly string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, each]) =>
        key === '$ref' && typeof each === 'string' ? [each] : refsIn(each),
      )

const at = (pointer: string): unknown =>
  pointer
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
      served,
    )

describe('the document', () => {
  test('has the shape of OpenAPI 3.1', () => {
    const validate = createAjv(false).compile(SHAPE)
    validate(served)
    expect(validate.errors ?? []).toEqual([])
  })

  test('is what ToolHive takes for a registry', () => {
    expect(document.info.version).toBe('1.0.0')
    expect(document.info.description).toContain('https://github.com/modelcontextprotocol/registry')
  })

  test('is the same text every time, loses nothing as text, and reads the same as YAML', () => {
    expect(openApiJson('0.1.0')).toBe(openApiJson('0.1.0'))
    expect(served).toEqual(document)
    expect(parse(openApiJson('0.1.0'))).toEqual(served)
    expect(openApiJson('0.2.0')).toBe(openApiJson('0.1.0').replace('"0.1.0"', '"0.2.0"'))
  })

  test('has a target for every reference, and a reference to every component', () => {
    const refs = new Set(refsIn(served))
    expect([...refs].filter((ref) => at(ref) === undefined)).toEqual([])
    const components = Object.entries(served.components).flatMap(([kind, named]) =>
      Object.keys(named).map((name) => `#/components/${kind}/${name}`),
    )
    expect(components.filter((component) => !refs.has(component))).toEqual([])
  })

  test('has schemas that compile', () => {
    for (const name of Object.keys(served.components.schemas)) expect(() => validatorOf(name)).not.toThrow()
  })

  test('gives every operation an id of its own and a tag that is declared', () => {
    const ids = operations.map(({ get }) => get.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = served.tags.map(({ name }) => name)
    expect(operations.flatMap(({ get }) => get.tags ?? []).filter((tag) => !tags.includes(tag))).toEqual([])
  })

  test('has the same registry API below each base', () => {
    const below = (base: string) =>
      operations
        .filter(({ path }) => path.startsWith(`${base}/servers`))
        .map(({ path, get }) => ({
          path: path.slice(base.length),
          parameters: (get.parameters ?? []).filter(({ $ref }) => !$ref.endsWith('/registry')),
          statuses: Object.keys(get.responses),
        }))
    expect(below('/v0.1')).toHaveLength(3)
    for (const base of ['/v0', '/registry/{registry}/v0.1']) expect(below(base)).toEqual(below('/v0.1'))
  })

  test.each(operations)('$path declares what its path takes, and what it answers', ({ path, get }) => {
    const declared = (get.parameters ?? []).map(({ $ref }) => at($ref) as { name: string; in: string })
    const inPath = declared.filter((each) => each.in === 'path').map(({ name }) => name)
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    expect(new Set(declared.map((each) => `${each.in} ${each.name}`)).size).toBe(declared.length)
    expect(Object.keys(get.responses).some((status) => status.startsWith('2'))).toBe(true)
  })
})

describe('what Waypost writes is what the document says', () => {
  const entries = (() => {
    const parsed = parseConfig('')
    if (parsed.kind === 'bad') throw new Error('bad configuration')
    const manifest = `
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPServer
metadata:
  name: one
  namespace: team
  annotations:
    toolhive.stacklok.dev/registry-export: "true"
    toolhive.stacklok.dev/registry-url: https://mcp.example.com/one
    toolhive.stacklok.dev/registry-description: One
`
    const manifests = { root: '.', documents: parseManifests('a.yaml', manifest) }
    const { registries } = compileManifests(parsed.config, manifests, 'manifests', 0)
    return registries.flatMap(({ document }) => document.entries)
  })()
  const entry = (): { _meta: Record<string, Record<string, unknown>>; server: Record<string, unknown> } =>
    JSON.parse(entries[0]?.json ?? '')

  test('an entry is a ServerResponse, and a page of it a ServerList', () => {
    expect(entries).toHaveLength(1)
    expect(validatorOf('ServerResponse')(entry())).toBe(true)
    const isList = validatorOf('ServerList')
    expect(isList({ servers: [entry()], metadata: { count: 1, nextCursor: 'abc' } })).toBe(true)
    expect(isList({ servers: [entry()] })).toBe(false)
    expect(isList({ servers: [], metadata: { count: 0, nextCursor: null } })).toBe(false)
  })

  test('the official block is closed, a server.json is open but for what it must have', () => {
    const isEntry = validatorOf('ServerResponse')
    const { _meta, server } = entry()
    const official = _meta['io.modelcontextprotocol.registry/official']
    const withOfficial = { ..._meta, 'io.modelcontextprotocol.registry/official': { ...official, more: 1 } }
    expect(isEntry({ _meta: withOfficial, server })).toBe(false)
    expect(isEntry({ _meta: { ..._meta, 'com.example/own': {} }, server: { ...server, more: 1 } })).toBe(true)
    for (const field of ['name', 'description', 'version'])
      expect(isEntry({ _meta, server: { ...server, [field]: undefined } })).toBe(false)
  })

  test('readiness is a Readiness, with and without something to serve', () => {
    const registry = { name: 'one', status: 'fresh', served: true, sequence: 1, published: 0, checked: 0 } as const
    for (const registries of [[registry], []]) {
      const { body } = renderHealth({ registries, problem: undefined })
      expect(validatorOf('Readiness')(JSON.parse(body))).toBe(true)
    }
  })
})

test('docs/api.md has every error code with its statuses, and no other', () => {
  const guide = readFileSync(new URL('../docs/api.md', import.meta.url), 'utf8')
  const rows = [...guide.matchAll(/^\| `([A-Z]\w+)` \| ([\d, ]+) \|/gm)]
  expect(Object.fromEntries(rows.map(([, code, statuses]) => [code, statuses?.split(', ').map(Number)]))).toEqual(
    ERROR_CODES,
  )
})

test('every status that a code comes with is an answer of some path', () => {
  const statuses = new Set(operations.flatMap(({ get }) => Object.keys(get.responses)))
  expect(
    Object.values(ERROR_CODES)
      .flat()
      .map(String)
      .filter((status) => !statuses.has(status)),
  ).toEqual([])
})

describe('the page', () => {
  const page = docsPage(document)

  test('has every path under a heading, with every link leading to one', () => {
    for (const path of Object.keys(document.paths)) expect(page).toContain(`<code>GET ${path}</code></h3>`)
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect([...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)).toEqual(ids)
    expect(page.match(/<h1>/g)).toHaveLength(1)
  })

  test('has examples that can be pasted', () => {
    expect(page).toContain('curl &quot;$REGISTRY/v0.1/servers?limit=10&amp;search=github&amp;version=latest&quot;')
    expect(page).toContain(
      'curl &quot;$REGISTRY/registry/default/v0.1/servers/com.example%2Fgithub/versions/latest&quot;',
    )
    expect(page).not.toMatch(/\{\w+\}[^<]*&quot;<\/code><\/pre>/)
  })

  test('needs no script and nothing from elsewhere', () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\son\w+=|\sstyle=|\ssrc=|href="(?!#|openapi\.)|url\(|@import/i)
    expect(page.match(/<style>/g)).toHaveLength(1)
  })

  test('shows markup in any text of a document as text', () => {
    const evil = `"><script>alert('1')</script>\`<b>\`&`
    const poison = (value: unknown, key = ''): unknown => {
      if (typeof value === 'string') return ['$ref', 'in', 'tags', 'name'].includes(key) ? value : evil
      if (Array.isArray(value)) return value.map((each) => poison(each, key))
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, poison(each, name)]))
    }
    const poisoned = poison(served) as OpenApiDocument
    const paths = Object.fromEntries(Object.entries(poisoned.paths).map(([path, item]) => [`${path}${evil}`, item]))
    const result = docsPage({ ...poisoned, paths })
    expect(result).toContain('&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;')
    expect(result).not.toMatch(/<script|<b>/)
    const tagsOf = (text: string) => [...new Set(text.match(/<\/?[a-z][a-z0-9]*/g))].sort()
    expect(tagsOf(result)).toEqual(tagsOf(page))
  })
})
