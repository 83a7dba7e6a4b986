import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { parseManifests } from '../adapters/cluster/manifests.ts'
import type { ManifestDocument } from '../core/model/manifests.ts'
import { MCP_KINDS } from '../core/model/resource.ts'
import { compileManifests } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'
import { serverJson } from './server-json.ts'

// Manifests and the schema of others are not part of this project. Where they lie beside it they are tried; our own
// examples always are.
const shared = new URL('../../shared/data/', import.meta.url).pathname
const folders = [new URL('../examples', import.meta.url).pathname, join(shared, 'toolhive-examples')].filter((folder) =>
  existsSync(folder),
)

const schemaValidator = (): ValidateFunction | undefined => {
  const file = join(shared, 'mcp-registry', '2025-12-11.json')
  if (!existsSync(file)) return undefined
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  return ajv.compile(JSON.parse(readFileSync(file, 'utf8')))
}

const parsed = parseConfig('discovery: { missingDescription: generate, naming: "com.toolhive.k8s.{namespace}/{name}" }')
const validate = schemaValidator()

/** Exports every MCP resource at an address of its own. */
const annotate = (value: unknown, file: string): unknown => {
  if (
    typeof value !== 'object' ||
    value === null ||
    !('kind' in value) ||
    !MCP_KINDS.some((kind) => kind === value.kind)
  )
    return value
  const metadata = 'metadata' in value && typeof value.metadata === 'object' ? value.metadata : {}
  const name = metadata !== null && 'name' in metadata ? metadata.name : ''
  const annotations = {
    'toolhive.stacklok.dev/registry-export': 'true',
    'toolhive.stacklok.dev/registry-url': `https://mcp.example.com/${value.kind}/${name}/${encodeURIComponent(file)}`,
  }
  return { ...value, metadata: { ...metadata, annotations } }
}

const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => [file, join(folder, file)] as const),
)

test.each(files)('%s: every MCP resource is listed, and is valid', (file, path) => {
  if (parsed.kind === 'bad') throw new Error('bad configuration')
  const documents = parseManifests(file, readFileSync(path, 'utf8'))
  const annotated = documents.map((document) =>
    document.kind === 'read' ? { ...document, value: annotate(document.value, file) } : document,
  )
  const { registries, findings } = compileManifests(parsed.config, { root: file, documents: annotated }, 'manifests', 0)
  const wanted = documents.filter(
    (document) => document.kind === 'read' && annotate(document.value, file) !== document.value,
  )
  const servers = registries.flatMap(({ document }) => document.entries.map(({ server }) => server))
  expect(findings.filter(({ effect, subject }) => effect === 'skipped' && subject.kind !== 'HTTPRoute')).toEqual([])
  expect(servers).toHaveLength(wanted.length)
  for (const server of servers) {
    serverJson.parse(server)
    if (validate !== undefined)
      expect(validate(JSON.parse(JSON.stringify(server))), JSON.stringify(validate.errors)).toBe(true)
  }
})

/** Puts every route up for export, and an MCP server behind every Service that one leads to. */
const adopt = (value: unknown): readonly unknown[] => {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('metadata' in value)) return [value]
  const metadata = { namespace: 'default', ...(value.metadata as object) } as {
    namespace: string
    name: string
    annotations?: object
  }
  if (value.kind === 'HTTPRoute')
    return [
      {
        ...value,
        metadata: {
          ...metadata,
          annotations: { ...metadata.annotations, 'toolhive.stacklok.dev/registry-export': 'true' },
        },
      },
      ...backendsOf(value, metadata.namespace),
    ]
  return value.kind === 'Service' ? [] : [value]
}

const backendsOf = (route: object, namespace: string): readonly unknown[] => {
  const refs: { name: string; namespace?: string; port?: number }[] =
    JSON.stringify(route)
      .match(/"backendRefs":(\[.*?\])/g)
      ?.flatMap((text) => JSON.parse(`{${text}}`).backendRefs) ?? []
  return refs.flatMap(({ name, namespace: own = namespace, port = 80 }) => [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name,
        namespace: own,
        ownerReferences: [
          { apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPServer', name, uid: name, controller: true },
        ],
      },
      spec: { ports: [{ port }] },
    },
    { apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPServer', metadata: { name, namespace: own, uid: name } },
  ])
}

const gatewayFiles = [join(shared, 'gateway-manifests')]
  .filter((folder) => existsSync(folder))
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => join(folder, file)),
  )

test.each(['manifests', 'cluster'] as const)(
  'every real HTTPRoute that lies beside the project ends with URLs or one decisive reason, read as %s',
  (readAs) => {
    if (parsed.kind === 'bad') throw new Error('bad configuration')
    let withUrl = 0
    for (const path of gatewayFiles) {
      const documents = parseManifests(path, readFileSync(path, 'utf8')).flatMap(
        (document): readonly ManifestDocument[] =>
          document.kind === 'read' ? adopt(document.value).map((value) => ({ ...document, value })) : [document],
      )
      const { findings, walks } = compileManifests(parsed.config, { root: path, documents }, readAs, 0)
      for (const { walk } of walks) {
        const { namespace, name } = walk.route.meta
        const decisive = findings.filter(
          ({ subject, decisive }) =>
            decisive && subject.kind === 'HTTPRoute' && subject.namespace === namespace && subject.name === name,
        )
        expect(decisive, `${path} ${name}`).toHaveLength(walk.endpoints.length > 0 ? 0 : 1)
        if (walk.endpoints.length > 0) withUrl++
      }
    }
    if (gatewayFiles.length > 0 && readAs === 'manifests') expect(withUrl).toBeGreaterThan(5)
  },
)
