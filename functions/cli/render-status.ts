import type { HistoryItem, Pointer } from '../../core/model/publication.ts'
import type { Report, SourceReport } from '../publication/report.ts'

/** `3 minutes`, from the larger unit that fits. */
export const renderAge = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.round(milliseconds / 1000))
  const units = [
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ] as const
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 'second']
  const count = Math.floor(seconds / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

const WHAT: Readonly<Record<string, string>> = {
  write: 'published',
  note: 'remembered',
  rollback: 'rolled back',
  approve: 'losses approved',
}

/** One line an item, the newest first. */
export const renderHistory = ({ history }: Pointer): string =>
  [...history]
    .reverse()
    .map(({ sequence, at, action, servers, document, publication }: HistoryItem) => {
      const of = publication.startsWith(`${sequence}-`) ? '' : `  (document of ${publication.split('-')[0]})`
      return `${String(sequence).padStart(5)}  ${at}  ${(WHAT[action] ?? action).padEnd(15)}  ${String(servers).padStart(6)} servers  ${document.slice(0, 12)}${of}\n`
    })
    .join('')

const sourceLine = ({ name, isFresh, observedAt, servers, attempts, problem, losses }: SourceReport, now: number) => {
  const seen = observedAt === undefined ? 'never read' : `read ${renderAge(now - Date.parse(observedAt))} ago`
  const lines = [`  source ${name}: ${isFresh ? 'fresh' : 'stale'}, ${seen}, ${servers} asking to be listed`]
  if (problem !== undefined) lines.push(`    ${problem} (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`)
  if (losses.length > 0)
    lines.push(
      `    refused: the loss of ${losses.slice(0, 5).join(', ')}${losses.length > 5 ? ` and ${losses.length - 5} more` : ''}`,
      '    If they are meant to be gone: waypost approve, then sync again.',
    )
  return lines
}

/** How a registry stands: what is served, how old that is, and how its sources are. */
export const renderStatus = (
  registry: string,
  pointer: Pointer | undefined,
  report: Report | undefined,
  now: number,
): string => {
  const current = pointer?.history.at(-1)
  const published =
    pointer === undefined || current === undefined
      ? `${registry}: never published`
      : `${registry}: publication ${pointer.sequence}, ${current.servers} ${current.servers === 1 ? 'server' : 'servers'}, changed ${renderAge(now - Date.parse(pointer.at))} ago`
  return [
    published,
    ...(pointer?.heldInput === undefined
      ? []
      : ['  held by a rollback, until the cluster or the configuration changes']),
    ...(pointer?.nextDeadline === undefined ? [] : [`  the next grace or tombstone ends at ${pointer.nextDeadline}`]),
    ...(pointer?.approvedLosses === undefined ? [] : [`  ${pointer.approvedLosses.length} losses are approved`]),
    ...(report === undefined
      ? ['  no sync has reported yet']
      : [
          `  last sync ${renderAge(now - Date.parse(report.at))} ago: ${report.action}, ${report.findings.length} findings`,
          ...report.sources.flatMap((source) => sourceLine(source, now)),
        ]),
    '',
  ].join('\n')
}
