import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Manifests } from '../core/model/manifests.ts'
import { type Compilation, compileManifests } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'
import { shuffled } from './shuffled.ts'

// Each vector is a cluster, a route in it, and the URLs that it gives, or the reason why it gives none.
type Vector = {
  readonly id: string
  readonly sketch: string
  readonly options: {
    readonly gatewayOverrides?: object
    readonly stale?: string
    readonly requireAddress?: boolean
    readonly wildcardLabel?: string
  }
  readonly objects: readonly unknown[]
  readonly targetRoute: string
  readonly expect: {
    readonly urls: readonly string[]
    readonly reason?: string
    readonly warn?: readonly string[]
    readonly owner?: string
  }
}
const vectors: readonly Vector[] = JSON.parse(readFileSync(new URL('vectors/gateway.json', import.meta.url), 'utf8'))

const compileVector = ({ options, objects }: Vector, order: readonly unknown[] = objects): Compilation => {
  const { gatewayOverrides: gateways, stale: staleStatus, ...rest } = options
  const parsed = parseConfig(
    JSON.stringify({ discovery: { ...rest, ...(gateways && { gateways }), ...(staleStatus && { staleStatus }) } }),
  )
  if (parsed.kind === 'bad') throw new Error(JSON.stringify(parsed.problems))
  const manifests: Manifests = {
    root: 'vector',
    documents: [{ kind: 'read', file: 'vector', document: 1, value: { apiVersion: 'v1', kind: 'List', items: order } }],
  }
  return compileManifests(parsed.config, manifests, 'cluster', 0)
}

test('there are all of them', () => {
  expect(vectors).toHaveLength(132)
})

describe.each(vectors)('$id: $sketch', (vector) => {
  const outcome = (compilation: Compilation) => {
    const about = compilation.findings.filter(
      ({ subject }) => subject.kind === 'HTTPRoute' && `${subject.namespace}/${subject.name}` === vector.targetRoute,
    )
    const entries = compilation.registries.flatMap(({ state, document }) =>
      document.entries.map((entry, index) => ({ entry, owner: state.entries[index]?.owner })),
    )
    const isOverridden = about.some(({ code }) => code === 'DirectUrlOverrides')
    return {
      urls: isOverridden ? [] : entries.flatMap(({ entry }) => (entry.server.remotes ?? []).map(({ url }) => url)),
      owner: entries.map(({ owner }) => `${owner?.kind}/${owner?.namespace}/${owner?.name}`)[0],
      decisive: about.filter(({ decisive }) => decisive).map(({ code }) => code),
      codes: about.map(({ code }) => code),
      isListed: entries.length > 0,
    }
  }

  test('gives its URLs and its reason', () => {
    const { urls, decisive, codes, owner, isListed } = outcome(compileVector(vector))
    expect(urls).toEqual(vector.expect.urls)
    expect(decisive).toEqual(vector.expect.reason === undefined ? [] : [vector.expect.reason])
    for (const code of vector.expect.warn ?? []) expect(codes).toContain(code)
    if (vector.expect.owner !== undefined) expect(owner).toBe(vector.expect.owner)
    // A registry-url is listed in the place of the route's own URL.
    expect(isListed).toBe(vector.expect.urls.length > 0 || vector.expect.reason === 'DirectUrlOverrides')
  })

  test('gives the same in any order of objects', () => {
    const whole = outcome(compileVector(vector))
    for (let seed = 1; seed <= 3; seed++)
      expect(outcome(compileVector(vector, shuffled(vector.objects, seed)))).toEqual(whole)
  })
})
