import type { Candidate } from '../model/candidate.ts'
import { isServerName } from '../model/entry.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import type { RegistryState } from './state.ts'

export type Named = { readonly candidate: Candidate; readonly name: string }
export type NameAssignment = { readonly named: readonly Named[]; readonly findings: readonly Finding[] }

/** What tells a resource apart from the holder of its name: between clusters the source, within one the kind. */
const suffixOf = ({ ref }: Candidate, holder: ResourceRef): string =>
  ref.source === holder.source ? ref.kind.toLowerCase() : ref.source

/**
 * Names are sticky and never taken over: whoever had one keeps it, and what is withdrawn holds it while its tombstone
 * lives. New ones choose in the order of `candidates`; who finds the name taken gets it with a suffix, or none.
 */
export const assignNames = (candidates: readonly Candidate[], previous: RegistryState | undefined): NameAssignment => {
  const holders = new Map<string, ResourceRef>()
  const held = new Map<string, string>()
  for (const { name, owner, wantedName } of previous?.entries ?? []) {
    holders.set(name, owner)
    held.set(`${subjectKey(owner)} ${wantedName}`, name)
  }
  const named: Named[] = []
  const findings: Finding[] = []
  for (const candidate of candidates) {
    const { ref, wantedName } = candidate
    const before = held.get(`${subjectKey(ref)} ${wantedName}`)
    const holder = holders.get(wantedName)
    const isFree = (name: string): boolean => subjectKey(holders.get(name) ?? ref) === subjectKey(ref)
    const suffixed = holder === undefined ? wantedName : `${wantedName}-${suffixOf(candidate, holder)}`
    const name = before ?? [wantedName, suffixed].find((each) => isFree(each) && isServerName(each))
    const conflict = { code: 'NameConflict', wanted: wantedName, ...(holder !== undefined && { holder }) } as const
    if (name === undefined) {
      findings.push(findingOf(ref, conflict))
      continue
    }
    if (name !== wantedName) findings.push(findingOf(ref, { ...conflict, listedAs: name }, 'degraded'))
    holders.set(name, ref)
    named.push({ candidate, name })
  }
  return { named, findings }
}
