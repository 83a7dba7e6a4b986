import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createManifestReader } from '../adapters/cluster/manifests.ts'
import { FINDING_CODES, type Finding } from '../core/model/finding.ts'
import type { Manifests } from '../core/model/manifests.ts'
import { compilationJson } from '../functions/cli/render-compilation.ts'
import { type Compilation, compileManifests } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'
import { shuffled } from './shuffled.ts'

// A scenario is a folder: manifests in (`in.yaml` or `in/`), with `waypost.yaml` and `as` where they matter, and
// `registry.json` and `findings.json` out. UPDATE_SCENARIOS=1 writes what comes out; read the difference before you commit.
const root = new URL('scenarios/', import.meta.url).pathname
const names = readdirSync(root).sort()
const update = process.env.UPDATE_SCENARIOS === '1'

const textOf = (scenario: string, file: string, otherwise: string): string => {
  return readdirSync(join(root, scenario)).includes(file) ? readFileSync(join(root, scenario, file), 'utf8') : otherwise
}

const read = createManifestReader(process.stdin)
const readScenario = (scenario: string): Promise<Manifests> => {
  return read(join(root, scenario, readdirSync(join(root, scenario)).includes('in') ? 'in' : 'in.yaml'))
}

const compileScenario = (scenario: string, manifests: Manifests): Compilation => {
  const parsed = parseConfig(textOf(scenario, 'waypost.yaml', ''))
  if (parsed.kind === 'bad') throw new Error(`${scenario}: ${JSON.stringify(parsed.problems)}`)
  const readAs = textOf(scenario, 'as', 'manifests').trim() === 'cluster' ? 'cluster' : 'manifests'
  return compileManifests(parsed.config, manifests, readAs, Date.parse('2026-01-01T00:00:00Z'))
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
    const { registries, findings, codes } = outcome(compileScenario(scenario, await readScenario(scenario)))
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
    const whole = compilationJson(compileScenario(scenario, manifests))
    for (let seed = 1; seed <= 5; seed++) {
      expect(
        compilationJson(compileScenario(scenario, { ...manifests, documents: shuffled(manifests.documents, seed) })),
      ).toBe(whole)
    }
  })

  test('has exactly one decisive finding for each subject that is listed nowhere, and none for the others', async () => {
    const { registries, findings } = compileScenario(scenario, await readScenario(scenario))
    const listed = new Set(registries.flatMap(({ state }) => state.entries.map(({ owner }) => JSON.stringify(owner))))
    for (const [subject, about] of Map.groupBy(findings, (finding) => JSON.stringify(finding.subject))) {
      expect(
        about.filter(({ decisive }) => decisive),
        subject,
      ).toHaveLength(listed.has(subject) ? 0 : 1)
    }
  })
})

test('every finding code has a scenario', () => {
  expect(Object.keys(FINDING_CODES).filter((code) => !seen.has(code))).toEqual([])
})

test('every finding code has a heading in docs/findings.md, and every heading a code', () => {
  const headings = [
    ...readFileSync(new URL('../docs/findings.md', import.meta.url), 'utf8').matchAll(/^### (\w+)$/gm),
  ].map(([, code]) => code)
  expect(headings.toSorted()).toEqual(Object.keys(FINDING_CODES).toSorted())
})
