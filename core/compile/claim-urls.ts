import type { CandidateRemote } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import type { EntryState } from './state.ts'

/** A candidate with the remotes that it would publish. */
export type Claimant = { readonly ref: ResourceRef; readonly remotes: readonly CandidateRemote[] }
export type UrlClaims<T> = { readonly settled: readonly T[]; readonly findings: readonly Finding[] }

const sameUrl = (url: string): string => URL.parse(url)?.href ?? url

type Claim = { readonly claimant: Claimant; readonly isRouted: boolean; readonly heldBefore: boolean }

/** A route leads where it leads, whatever an annotation says; then who had the URL, then who comes first. */
const isStronger = (a: Claim, b: Claim): boolean =>
  a.isRouted === b.isRouted ? a.heldBefore && !b.heldBefore : a.isRouted

/**
 * One URL, one server. An MCPServerEntry only points to somebody else's server, so its URL neither takes one away nor
 * is taken. `claimants` come in order of precedence.
 */
export const claimUrls = <T extends Claimant>(
  claimants: readonly T[],
  previous: readonly EntryState[],
): UrlClaims<T> => {
  const held = new Set(
    previous.flatMap(({ owner, remotes }) => remotes.map(({ url }) => `${subjectKey(owner)} ${sameUrl(url)}`)),
  )
  const winners = new Map<string, Claim>()
  for (const claimant of claimants) {
    if (claimant.ref.kind === 'MCPServerEntry') continue
    for (const { url, origin } of claimant.remotes) {
      const claim: Claim = {
        claimant,
        isRouted: origin !== undefined,
        heldBefore: held.has(`${subjectKey(claimant.ref)} ${sameUrl(url)}`),
      }
      const known = winners.get(sameUrl(url))
      if (known === undefined || isStronger(claim, known)) winners.set(sameUrl(url), claim)
    }
  }
  const findings: Finding[] = []
  const settled = claimants.flatMap((claimant): readonly T[] => {
    const kept = claimant.remotes.filter(({ url }) => {
      const winner = claimant.ref.kind === 'MCPServerEntry' ? claimant : winners.get(sameUrl(url))?.claimant
      if (winner === undefined || winner === claimant) return true
      findings.push(findingOf(claimant.ref, { code: 'UrlConflict', url, holder: winner.ref }))
      return false
    })
    return kept.length === 0
      ? []
      : [kept.length === claimant.remotes.length ? claimant : { ...claimant, remotes: kept }]
  })
  return { settled, findings }
}
