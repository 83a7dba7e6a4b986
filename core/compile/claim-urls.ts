import type { CandidateRemote } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import type { EntryState, RemoteState } from '../model/state.ts'

/** Who would publish which of its remotes. */
type Claimant = {
  readonly ref: ResourceRef
  readonly remotes: readonly RemoteState[]
  readonly all: readonly RemoteState[]
}
export type UrlClaims<T> = { readonly settled: readonly T[]; readonly findings: readonly Finding[] }

/** The URL as the parser writes it. That of a route is in this form already. */
const sameUrl = ({ url, origin }: CandidateRemote): string =>
  origin === undefined ? (URL.parse(url)?.href ?? url) : url

type Claim = {
  readonly claimant: Claimant
  readonly isRouted: boolean
  readonly isHealthy: boolean
  readonly heldBefore: boolean
}

/** A route leads where it leads, whatever an annotation says; what is healthy beats what is in its grace; then who had it. */
const isStronger = (a: Claim, b: Claim): boolean => {
  if (a.isRouted !== b.isRouted) return a.isRouted
  if (a.isHealthy !== b.isHealthy) return a.isHealthy
  return a.heldBefore && !b.heldBefore
}

/**
 * One URL, one server. An MCPServerEntry only points to somebody else's server, so its URL neither takes one away nor
 * is taken. `claimants` come in order of precedence.
 */
export const claimUrls = <T extends Claimant>(
  claimants: readonly T[],
  previous: readonly EntryState[],
): UrlClaims<T> => {
  const held = new Set(
    previous.flatMap(({ owner, remotes }) => remotes.map((remote) => `${subjectKey(owner)} ${sameUrl(remote)}`)),
  )
  const winners = new Map<string, Claim>()
  for (const claimant of claimants) {
    if (claimant.ref.kind === 'MCPServerEntry') continue
    for (const remote of claimant.remotes) {
      const url = sameUrl(remote)
      const claim: Claim = {
        claimant,
        isRouted: remote.origin !== undefined,
        isHealthy: remote.pendingSince === undefined,
        heldBefore: held.has(`${subjectKey(claimant.ref)} ${url}`),
      }
      const known = winners.get(url)
      if (known === undefined || isStronger(claim, known)) winners.set(url, claim)
    }
  }
  const findings: Finding[] = []
  const settled = claimants.flatMap((claimant): readonly T[] => {
    const kept = claimant.remotes.filter((remote) => {
      const winner = claimant.ref.kind === 'MCPServerEntry' ? claimant : winners.get(sameUrl(remote))?.claimant
      if (winner === undefined || winner === claimant) return true
      findings.push(findingOf(claimant.ref, { code: 'UrlConflict', url: remote.url, holder: winner.ref }))
      return false
    })
    if (kept.length === claimant.remotes.length || kept.length === 0) return kept.length === 0 ? [] : [claimant]
    const urls = new Set(kept.map(({ url }) => url))
    const lost = new Set(claimant.remotes.filter(({ url }) => !urls.has(url)).map(({ url }) => url))
    return [{ ...claimant, remotes: kept, all: claimant.all.filter(({ url }) => !lost.has(url)) }]
  })
  return { settled, findings }
}
