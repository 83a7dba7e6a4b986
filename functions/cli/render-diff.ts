import { isMap } from '../../core/model/is-map.ts'
import { printable } from '../../core/model/printable.ts'
import type { DiffEntry, FieldChange } from '../../core/publish/diff-documents.ts'
import type { Comparison, SaidFinding } from '../publication/compare-publications.ts'

export const isSame = ({ added, removed, changed, appeared, went }: Comparison): boolean =>
  [added, removed, changed, appeared, went].every(({ length }) => length === 0)

const MOST = 200
const show = (value: unknown): string =>
  value === undefined ? '(none)' : printable(typeof value === 'string' ? value : JSON.stringify(value), MOST)

const urlsOf = ({ server }: DiffEntry): string => {
  const remotes = isMap(server) && Array.isArray(server.remotes) ? server.remotes : []
  return remotes.flatMap((remote) => (isMap(remote) && typeof remote.url === 'string' ? [remote.url] : [])).join(', ')
}

const fieldLine = ({ field, before, after }: FieldChange): string => `${field}: ${show(before)} → ${show(after)}`

const findingLine = ({ code, subject, message }: SaidFinding): string => {
  const { kind, namespace, name } = isMap(subject) ? subject : {}
  const place = [kind, namespace, name].filter((part) => typeof part === 'string' && part !== '').join('/')
  return `${place} ${String(code)}: ${String(message)}`
}

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', `${title}:`, ...lines]

/** For a terminal. */
export const renderDiff = (diff: Comparison): string => {
  if (isSame(diff)) return 'Nothing changed.\n'
  const { added, removed, changed, appeared, went } = diff
  return [
    ...added.map((entry) => `+ ${entry.name}  ${entry.version}  ${urlsOf(entry)}`.trimEnd()),
    ...removed.map(({ name, version }) => `- ${name}  ${version}`),
    ...changed.flatMap(({ name, version, fields }) => [
      `~ ${name}  ${version}`,
      ...fields.map((field) => `    ${fieldLine(field)}`),
    ]),
    ...section(
      'Findings that appeared',
      appeared.map((finding) => `  ${findingLine(finding)}`),
    ),
    ...section(
      'Findings that went',
      went.map((finding) => `  ${findingLine(finding)}`),
    ),
    '',
  ].join('\n')
}

/** What others wrote must not become a heading, a mention, a link or a table of the page that it is pasted into. */
const inert = (text: string): string => {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`
}

/** For a comment on a pull request. */
export const renderDiffMarkdown = (registry: string, diff: Comparison): string => {
  const { added, removed, changed, appeared, went } = diff
  const counts = `${added.length} added, ${removed.length} removed, ${changed.length} changed`
  const list = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ['', `**${title}**`, '', ...lines.map((line) => `- ${line}`)]
  return [
    `### Registry ${registry}: ${isSame(diff) ? 'nothing changes' : counts}`,
    ...list(
      'Added',
      added.map(
        (entry) => `${inert(`${entry.name} ${entry.version}`)} ${urlsOf(entry) === '' ? '' : inert(urlsOf(entry))}`,
      ),
    ),
    ...list(
      'Removed',
      removed.map(({ name, version }) => inert(`${name} ${version}`)),
    ),
    ...list(
      'Changed',
      changed.map(({ name, version, fields }) =>
        [inert(`${name} ${version}`), ...fields.map((field) => `  - ${inert(fieldLine(field))}`)].join('\n'),
      ),
    ),
    ...list(
      'Findings that appeared',
      appeared.map((finding) => inert(findingLine(finding))),
    ),
    ...list(
      'Findings that went',
      went.map((finding) => inert(findingLine(finding))),
    ),
    '',
  ].join('\n')
}
