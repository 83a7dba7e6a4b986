import { isBefore } from '../../core/compile/report.ts'
import { type Finding, isQuiet } from '../../core/model/finding.ts'
import { findingJson, renderFinding } from '../../core/model/render-finding.ts'
import { type Subject, subjectKey } from '../../core/model/resource.ts'
import type { Compilation } from '../compile.ts'

export const subjectName = ({ kind, namespace, name }: Subject): string =>
  [kind, namespace, name].filter((part) => part !== '').join('/')

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** What `compile --json` prints: bare server.json objects, the active ones, in stored order, and all findings. */
export const compilationJson = ({ registries, findings }: Compilation): string => {
  const servers = registries.map(({ document }) => [
    document.registry,
    { servers: document.entries.filter(({ status }) => status === 'active').map(({ server }) => server) },
  ])
  return `${JSON.stringify({ registries: Object.fromEntries(servers), findings: findings.map(findingJson) }, null, 2)}\n`
}

/** A finding in three lines: where, what, and what to do. */
export const findingLines = (finding: Finding, indent = '  '): readonly string[] => {
  const { message, fix } = renderFinding(finding)
  return [`${indent}${finding.code}: ${message}`, `${indent}  ${fix}`]
}

/** The decisive one first, then what else keeps the subject out, in the order in which to remove it, then the rest. */
export const byWeight = (findings: readonly Finding[]): readonly Finding[] =>
  [...findings].sort(
    (a, b) =>
      Number(b.decisive ?? false) - Number(a.decisive ?? false) || (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0),
  )

const section = (title: string, findings: readonly Finding[], namesSource: boolean): readonly string[] => {
  if (findings.length === 0) return []
  const bySubject = Map.groupBy(findings, ({ subject }) => subjectKey(subject))
  const lines = [...bySubject.values()].flatMap((about) => {
    const subject = about[0]?.subject
    const heading =
      subject === undefined ? '' : `${subjectName(subject)}${namesSource ? ` (source ${subject.source})` : ''}`
    return [`  ${heading}`, ...byWeight(about).flatMap((finding) => findingLines(finding, '    '))]
  })
  return ['', `${title}:`, ...lines]
}

/** What was not listed and why, for people. What never asked to be listed is only counted. */
export const renderFindings = ({ findings, snapshots }: Pick<Compilation, 'findings' | 'snapshots'>): string => {
  const namesSource = snapshots.length > 1
  const out = new Set(findings.filter(({ decisive }) => decisive).map(({ subject }) => subjectKey(subject)))
  const isOut = ({ subject }: Finding): boolean => out.has(subjectKey(subject))
  const worthSaying = findings.filter((finding) => !isQuiet(finding))
  const said = new Set(worthSaying.map(({ subject }) => subjectKey(subject)))
  const quiet = [...out].filter((subject) => !said.has(subject)).length
  return [
    ...section('Not listed', worthSaying.filter(isOut), namesSource),
    ...section(
      'Listed, with something to know',
      worthSaying.filter((finding) => !isOut(finding)),
      namesSource,
    ),
    ...(quiet === 0
      ? []
      : [
          '',
          `${counted(quiet, 'other resource')} ${quiet === 1 ? 'does' : 'do'} not ask to be listed, or ${quiet === 1 ? 'is' : 'are'} not selected.`,
        ]),
    '',
  ].join('\n')
}

/** What was listed, what was not and why, for people. */
export const renderCompilation = (compilation: Compilation): string => {
  const lists = compilation.registries.flatMap(({ document }) => {
    const active = document.entries.filter(({ status }) => status === 'active')
    const lines = active.map(
      ({ name, version, server }) =>
        `  ${name}  ${version}  ${(server.remotes ?? []).map(({ type, url }) => `${type} ${url}`).join(', ')}`,
    )
    return [`${document.registry}: ${counted(active.length, 'server')} listed`, ...lines, '']
  })
  return `${lists.join('\n')}${renderFindings(compilation)}`
}
