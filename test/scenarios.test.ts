import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createManifestReader } from '../adapters/cluster/manifests.ts'
import { FINDING_CODES, type Finding } from '../core/model/finding.ts'
import type { Manifests } from '../core/model/manifests.ts'
import type { ObjectKind, Unlisted } from '../core/model/snapshot.ts'
import { compilationJson } from '../functions/cli/render-compilation.ts'
import { type Compilation, compileSnapshots, readSources } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'
import { shuffled } from './shuffled.ts'

// A scenario is a folder: manifests in (`in.yaml` or `in/`), with `waypost.yaml`, `as` (manifests or cluster), `unlisted.json`
// (kinds that could not be read) and `before.yaml` (what was there five minutes ago) where they matter; and `registry.json`
// and `findings.json` out. UPDATE_SCENARIOS=1 writes what comes out; read the difference before you commit.
const root = new URL('scenarios/', import.meta.url).pathname
const names = readdirSync(root).sort()
const update = process.env.UPDATE_SCENARIOS === '1'
const NOW = Date.parse('2026-01-01T00:00:00Z')

const has = (scenario: string, file: string): boolean => readdirSync(join(root, scenario)).includes(file)
const textOf = (scenario: string, file: string, otherwise: string): string =>
  has(scenario, file) ? readFileSync(join(root, scenario, file), 'utf8') : otherwise

const read = createManifestReader(process.stdin)
const readScenario = (scenario: string): Promise<Manifests> =>
  read(join(root, scenario, has(scenario, 'in') ? 'in' : 'in.yaml'))

const compileScenario = async (scenario: string, manifests: Manifests): Promise<Compilation> => {
  const parsed = parseConfig(textOf(scenario, 'waypost.yaml', ''))
  if (parsed.kind === 'bad') throw new Error(`${scenario}: ${JSON.stringify(parsed.problems)}`)
  const readAs = textOf(scenario, 'as', 'manifests').trim() === 'cluster' ? 'cluster' : 'manifests'
  const unlisted = new Map<ObjectKind, Unlisted>(
    Object.entries(JSON.parse(textOf(scenario, 'unlisted.json', '{}'))) as [ObjectKind, Unlisted][],
  )
  const readings = readSources(parsed.config, manifests, readAs).map(({ snapshot, findings }) => ({
    snapshot: { ...snapshot, unlisted },
    findings,
  }))
  const before = has(scenario, 'before.yaml')
    ? readSources(parsed.config, await read(join(root, scenario, 'before.yaml')), readAs)
    : undefined
  const earlier = before && compileSnapshots(parsed.config, before, NOW - 5 * 60_000)
  return compileSnapshots(parsed.config, readings, NOW, earlier?.registries)
}

const outcome = (compilation: Compilation): { registries: string; findings: string; codes: readonly string[] } => {
  const { registries, findings } = JSON.parse(compilationJson(compilation))
  const withoutWords = findings.map(({ message, fix, ...data }: Finding & { message: string; fix: string }) => data)
  return {
    registries: `${JSON.stringify(registries, null, 2)}\n`,
    findings: `${JSON.stringify(withoutWords, null, 2)}\n`,
    codes: findings.map(({ code }: Finding) => code),
  }
}

const seen = new Set<string>()

describe.each(names)('scenario %s', (scenario) => {
  test('gives its registries and findings', async () => {
    const { registries, findings, codes } = outcome(await compileScenario(scenario, await readScenario(scenario)))
    for (const code of codes) seen.add(code)
    if (update) {
      writeFileSync(join(root, scenario, 'registry.json'), registries)
      writeFileSync(join(root, scenario, 'findings.json'), findings)
    }
    expect(registries).toBe(textOf(scenario, 'registry.json', ''))
    expect(findings).toBe(textOf(scenario, 'findings.json', ''))
  })

  test('gives the same bytes in any order of documents', async () => {
    const manifests = await readScenario(scenario)
    const whole = compilationJson(await compileScenario(scenario, manifests))
    for (let seed = 1; seed <= 5; seed++) {
      expect(
        compilationJson(
          await compileScenario(scenario, { ...manifests, documents: shuffled(manifests.documents, seed) }),
        ),
      ).toBe(whole)
    }
  })

  test('has exactly one decisive finding for each subject that is listed nowhere, and none for the others', async () => {
    const { registries, findings, walks } = await compileScenario(scenario, await readScenario(scenario))
    const listed = new Set(
      registries.flatMap(({ state }) =>
        state.entries.filter(({ status }) => status === 'active').map(({ owner }) => JSON.stringify(owner)),
      ),
    )
    for (const { source, walk } of walks) {
      const { namespace, name } = walk.route.meta
      if (walk.endpoints.length > 0) listed.add(JSON.stringify({ source, kind: 'HTTPRoute', namespace, name }))
    }
    for (const [subject, about] of Map.groupBy(findings, (finding) => JSON.stringify(finding.subject))) {
      expect(
        about.filter(({ decisive }) => decisive),
        subject,
      ).toHaveLength(listed.has(subject) ? 0 : 1)
    }
  })
})

/** A compile always has fresh sources; these are shown by the sequences of a sync, in `sequences.ts`. */
const OF_A_SYNC = ['ShrinkRefused', 'SourceFailed', 'SourceStale']

test('every finding code has a scenario', () => {
  expect(Object.keys(FINDING_CODES).filter((code) => !seen.has(code))).toEqual(OF_A_SYNC)
})

test('every finding code has a heading in docs/findings.md, and every heading a code', () => {
  const headings = [
    ...readFileSync(new URL('../docs/findings.md', import.meta.url), 'utf8').matchAll(/^### (\w+)$/gm),
  ].map(([, code]) => code)
  expect(headings.toSorted()).toEqual(Object.keys(FINDING_CODES).toSorted())
})
