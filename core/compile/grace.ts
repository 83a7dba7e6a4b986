import type { Candidate, CandidateRemote, PendingWay, RouteOrigin } from '../model/candidate.ts'
import { matchesHost } from '../model/host-pattern.ts'
import type { EntryState, RemoteState } from '../model/state.ts'

/** When a source was last read well, and whether that was now. */
export type Observed = { readonly observedAt: number; readonly isFresh: boolean }

/** Who a remote is: the same way leads to it, whatever its URL has become. */
const wayOf = ({ url, origin }: CandidateRemote): string =>
  origin === undefined
    ? `direct ${url}`
    : [origin.route, origin.owner, origin.listener, origin.host, origin.path].join(' ')

/** An address may stand for any host; a wildcard for what is inside it. */
const isHostOf = (pattern: string, { host, hostSource }: RouteOrigin): boolean =>
  pattern === '' ? hostSource === 'address' : matchesHost(pattern, host)

const isOn = ({ url, origin }: RemoteState, way: PendingWay): boolean => {
  if (way.kind === 'direct') return origin === undefined && way.url === url
  if (origin === undefined || origin.route !== way.route || origin.owner !== way.owner) return false
  const isThere = way.at === undefined || (way.at.listener === origin.listener && isHostOf(way.at.hostPattern, origin))
  return isThere && (way.paths?.includes(origin.path) ?? true)
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
): readonly RemoteState[] => {
  const healthy = new Set(candidate.remotes.map(wayOf))
  const kept = (before?.remotes ?? []).flatMap((remote): readonly RemoteState[] => {
    if (healthy.has(wayOf(remote)) || !candidate.pending.some((way) => isOn(remote, way))) return []
    const { pendingSince: before, ...rest } = remote
    if (!observed.isFresh) return [rest]
    // A time that is still to come was noted by a clock that has been set back since.
    const pendingSince = before === undefined || before > observed.observedAt ? observed.observedAt : before
    if (observed.observedAt - pendingSince >= grace) return []
    return [{ ...remote, pendingSince }]
  })
  return [...candidate.remotes, ...kept]
}
