import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Manifests } from '../core/model/manifests.ts'
import { explain } from '../functions/cli/explain.ts'
import { compilationJson, renderCompilation } from '../functions/cli/render-compilation.ts'
import { type Compilation, compileManifests } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'
import { serverJson } from './server-json.ts'
import { shuffled } from './shuffled.ts'

// Clusters that are almost right: the objects of the vectors, with random parts replaced or taken away.
type Vector = { readonly objects: readonly unknown[]; readonly targetRoute: string }
const vectors: readonly Vector[] = JSON.parse(readFileSync(new URL('vectors/gateway.json', import.meta.url), 'utf8'))

const parsed = parseConfig('')
if (parsed.kind === 'bad') throw new Error('the default configuration is valid')
const { config } = parsed

const compileValues = (objects: readonly unknown[], readAs: 'cluster' | 'manifests'): Compilation => {
  const manifests: Manifests = { root: 'x', documents: [{ kind: 'read', file: 'x', document: 1, value: objects }] }
  return compileManifests(config, manifests, readAs, 0)
}

type Path = readonly (string | number)[]
const pathsOf = (value: unknown, path: Path = []): readonly Path[] =>
  typeof value === 'object' && value !== null
    ? [
        path,
        ...Object.entries(value).flatMap(([key, each]) =>
          pathsOf(each, [...path, Array.isArray(value) ? Number(key) : key]),
        ),
      ]
    : [path]

const replaceAt = (value: unknown, [first, ...rest]: Path, by: unknown): unknown => {
  if (first === undefined) return by
  if (Array.isArray(value)) return value.map((each, index) => (index === first ? replaceAt(each, rest, by) : each))
  return { ...(value as object), [first]: replaceAt((value as Record<string, unknown>)[String(first)], rest, by) }
}

const oddity = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    'True',
    'False',
    'Unknown',
    'All',
    'Same',
    'Selector',
    'None',
    'HTTP',
    'HTTPS',
    'TLS',
    'TCP',
    0,
    -1,
    1,
    443,
    65536,
    [],
    {},
    '*',
    '*.example.com',
    'a..b',
    '/',
    '//',
    '/%2e%2e',
    '::1',
    '10.0.0.1',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.anything({ maxDepth: 2 }),
)

const mutated = fc
  .tuple(fc.constantFrom(...vectors), fc.array(fc.tuple(fc.nat(), oddity), { minLength: 1, maxLength: 4 }))
  .map(([{ objects, targetRoute }, changes]) => {
    const result = changes.reduce<unknown>((value, [at, by]) => {
      const paths = pathsOf(value).filter((path) => path.length > 1)
      return replaceAt(value, paths[at % paths.length] ?? [], by)
    }, objects)
    return { objects: result as readonly unknown[], targetRoute }
  })

describe('a cluster with odd parts', () => {
  test.each(['cluster', 'manifests'] as const)(
    'read as %s, never makes compile throw; order does not matter; each route has URLs or one decisive reason',
    (readAs) => {
      let listed = 0
      fc.assert(
        fc.property(mutated, fc.integer({ min: 1 }), ({ objects, targetRoute }, seed) => {
          const compilation = compileValues(objects, readAs)
          const json = compilationJson(compilation)
          expect(compilationJson(compileValues(shuffled(objects, seed), readAs))).toBe(json)
          expect(renderCompilation(compilation)).not.toMatch(/undefined|\[object|\p{Cf}|(?!\n)\p{Cc}/u)
          const [namespace = '', name = ''] = targetRoute.split('/')
          explain({ kind: 'HTTPRoute', namespace, name }, compilation)
          for (const { server } of compilation.registries.flatMap(({ document }) => document.entries)) {
            serverJson.parse(server)
            listed++
          }
          const withUrl = new Set(
            compilation.walks
              .filter(({ walk }) => walk.endpoints.length > 0)
              .map(({ walk }) => `${walk.route.meta.namespace}/${walk.route.meta.name}`),
          )
          const routes = compilation.findings.filter(({ subject }) => subject.kind === 'HTTPRoute')
          for (const [route, about] of Map.groupBy(routes, ({ subject }) => `${subject.namespace}/${subject.name}`)) {
            expect(
              about.filter(({ decisive }) => decisive),
              route,
            ).toHaveLength(withUrl.has(route) ? 0 : 1)
          }
        }),
        { numRuns: 600 },
      )
      expect(listed).toBeGreaterThan(15)
    },
  )
})
