import type { Candidate } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import type { RegistryState } from './state.ts'

export type UrlClaims = { readonly candidates: readonly Candidate[]; readonly findings: readonly Finding[] }

const sameUrl = (url: string): string => URL.parse(url)?.href ?? url

/**
 * One URL, one server: the previous holder keeps it, then the oldest gets it, in the order of `candidates`. An
 * MCPServerEntry only points to somebody else's server, so its URL neither takes one away nor is taken.
 */
export const claimUrls = (candidates: readonly Candidate[], previous: RegistryState | undefined): UrlClaims => {
  const current = new Set(candidates.map(({ ref }) => subjectKey(ref)))
  const holders = new Map<string, ResourceRef>()
  for (const { urls, owner } of previous?.entries ?? []) {
    if (owner.kind === 'MCPServerEntry' || !current.has(subjectKey(owner))) continue
    for (const url of urls) holders.set(sameUrl(url), owner)
  }
  // A holder that has moved to another URL has let go of this one.
  const stillWanted = new Set(
    candidates.flatMap(({ ref, remotes }) => remotes.map(({ url }) => `${subjectKey(ref)} ${sameUrl(url)}`)),
  )
  for (const [url, owner] of holders) if (!stillWanted.has(`${subjectKey(owner)} ${url}`)) holders.delete(url)

  const kept: Candidate[] = []
  const findings: Finding[] = []
  for (const candidate of candidates) {
    if (candidate.ref.kind === 'MCPServerEntry') {
      kept.push(candidate)
      continue
    }
    const remotes = candidate.remotes.filter(({ url }) => {
      const holder = holders.get(sameUrl(url)) ?? candidate.ref
      holders.set(sameUrl(url), holder)
      if (subjectKey(holder) === subjectKey(candidate.ref)) return true
      findings.push(findingOf(candidate.ref, { code: 'UrlConflict', url, holder }))
      return false
    })
    if (remotes.length > 0) kept.push({ ...candidate, remotes })
  }
  return { candidates: kept, findings }
}
