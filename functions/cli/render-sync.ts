import type { Comparison } from '../publication/compare-publications.ts'
import type { Report } from '../publication/report.ts'
import type { Synced } from '../sync.ts'
import { findingLines, renderFindings } from './render-compilation.ts'
import { renderDiff } from './render-diff.ts'

const DONE: Readonly<Record<Report['action'], string>> = {
  write: 'published',
  note: 'the same servers; what is remembered of them changed',
  keep: 'unchanged',
  none: 'nothing could be read, and nothing is changed',
  failed: 'left as it is',
}

const describe = ({ action, isHeld, sequence, servers, problem }: Report): string => {
  const done = `${DONE[action]}${problem === undefined ? '' : `: ${problem.replace(/\.$/, '')}`}`
  const what = isHeld ? 'held by a rollback, until the cluster or the configuration changes' : done
  const size = `${servers} ${servers === 1 ? 'server' : 'servers'}`
  return sequence === undefined ? what : `${what} (publication ${sequence}, ${size})`
}

/** What a sync changed, why something is missing, and how each registry stands now, for people. */
export const renderSync = (
  { registries, dropped, compilation }: Synced,
  changes: ReadonlyMap<string, Comparison>,
  isDryRun: boolean,
): string => {
  const { findings, snapshots } = compilation
  const aboutSources = findings.filter(({ subject }) => subject.kind === 'Source')
  const others = findings.filter(({ subject }) => subject.kind !== 'Source')
  const retention = new Set(registries.flatMap(({ report }) => report.retention ?? []))
  const untold = new Set(registries.flatMap(({ report }) => report.untold ?? []))
  return [
    ...[...changes].flatMap(([name, { added, removed, changed }]) => [
      `${name}:`,
      renderDiff({ added, removed, changed, appeared: [], went: [] }),
    ]),
    renderFindings({ findings: others, snapshots }).trimStart(),
    ...aboutSources.flatMap((finding) => [...findingLines(finding, ''), '']),
    ...dropped.map((name) => `${name} is not in the configuration any more: it is no longer served.`),
    ...retention,
    ...[...untold].map((problem) => `Not all owners could be told by Events: ${problem}`),
    ...registries.map(({ name, report }) => `${name}: ${isDryRun ? 'dry run, ' : ''}${describe(report)}`),
    '',
  ]
    .filter((line, index, lines) => line !== '' || index === lines.length - 1)
    .join('\n')
}

export const syncJson = ({ isComplete, registries, dropped }: Synced): string => {
  const reports = Object.fromEntries(registries.map(({ name, report }) => [name, report]))
  return `${JSON.stringify({ complete: isComplete, registries: reports, dropped }, null, 2)}\n`
}
