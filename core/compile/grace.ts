import type { Candidate, CandidateRemote, PendingRemotes } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import type { EntryState, RemoteState } from './state.ts'

export type Graced = { readonly remotes: readonly RemoteState[]; readonly findings: readonly Finding[] }

/** Who a remote is: the same way leads to it, whatever its URL has become. */
const wayOf = ({ url, origin }: CandidateRemote): string =>
  origin === undefined
    ? `direct ${url}`
    : [origin.route, origin.parent, origin.listener, origin.host, origin.path].join(' ')

const isCovered = ({ origin }: RemoteState, { route, parent, listener, paths }: PendingRemotes): boolean => {
  if (route === undefined) return true
  if (origin === undefined || origin.route !== route || origin.parent !== parent) return false
  return (listener === undefined || origin.listener === listener) && (paths?.includes(origin.path) ?? true)
}

/**
 * Pending is not gone: a remote that was listed stays for a while when the only thing in its way passes by itself. The
 * time runs on when the source was observed, so that it stands still while nothing can be observed.
 */
export const applyGrace = (
  candidate: Candidate,
  before: EntryState | undefined,
  observedAt: number,
  grace: number,
): Graced => {
  const healthy = new Set(candidate.remotes.map(wayOf))
  const findings: Finding[] = []
  const kept = (before?.remotes ?? []).flatMap((remote): readonly RemoteState[] => {
    if (healthy.has(wayOf(remote)) || !candidate.pending.some((pending) => isCovered(remote, pending))) return []
    const pendingSince = remote.pendingSince ?? observedAt
    if (observedAt - pendingSince >= grace) return []
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
