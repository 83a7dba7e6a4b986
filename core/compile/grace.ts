import type { Candidate, CandidateRemote, PendingRemotes } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import type { EntryState, RemoteState } from './state.ts'

/** When a source was last read well, and whether that was now. */
export type Observed = { readonly observedAt: number; readonly isFresh: boolean }

export type Graced = { readonly remotes: readonly RemoteState[]; readonly findings: readonly Finding[] }

/** Who a remote is: the same way leads to it, whatever its URL has become. */
const wayOf = ({ url, origin }: CandidateRemote): string =>
  origin === undefined
    ? `direct ${url}`
    : [origin.route, origin.owner, origin.listener, origin.host, origin.path].join(' ')

const isCovered = ({ origin }: RemoteState, pending: PendingRemotes): boolean => {
  if (pending.route === undefined) return true
  if (origin === undefined || origin.route !== pending.route || origin.owner !== pending.owner) return false
  return (pending.listener ?? origin.listener) === origin.listener && (pending.host ?? origin.host) === origin.host
}

/**
 * Pending is not gone: a remote that was listed stays for a while when the only thing in its way passes by itself. The
 * time runs on when the source was observed: it stops when the source cannot be read, and begins anew with the next good
 * read.
 */
export const applyGrace = (
  candidate: Candidate,
  before: EntryState | undefined,
  observed: Observed,
  grace: number,
): Graced => {
  const healthy = new Set(candidate.remotes.map(wayOf))
  const findings: Finding[] = []
  const kept = (before?.remotes ?? []).flatMap((remote): readonly RemoteState[] => {
    if (healthy.has(wayOf(remote)) || !candidate.pending.some((pending) => isCovered(remote, pending))) return []
    const { pendingSince: before, ...rest } = remote
    if (!observed.isFresh) return [rest]
    const pendingSince = before ?? observed.observedAt
    if (observed.observedAt - pendingSince >= grace) return []
    findings.push(
      findingOf(candidate.ref, {
        code: 'PendingGrace',
        url: remote.url,
        until: new Date(pendingSince + grace).toISOString(),
      }),
    )
    return [{ ...remote, pendingSince }]
  })
  return { remotes: [...candidate.remotes, ...kept], findings }
}
