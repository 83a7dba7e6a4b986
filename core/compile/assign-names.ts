import type { CandidateRemote } from '../model/candidate.ts'
import { isServerName } from '../model/entry.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { type ResourceRef, subjectKey } from '../model/resource.ts'
import type { EntryState } from '../model/state.ts'

/** A candidate with the remotes that it would publish, the first one first. */
export type Nameable = {
  readonly ref: ResourceRef
  readonly wantedName: string
  readonly remotes: readonly CandidateRemote[]
}
export type Named<T> = { readonly claimant: T; readonly name: string }
export type NameAssignment<T> = { readonly named: readonly Named<T>[]; readonly findings: readonly Finding[] }

const gatewayOf = (remotes: readonly CandidateRemote[] | undefined): string | undefined => remotes?.[0]?.origin?.gateway

/** What tells a resource from the holder of its name: between clusters the source, else its Gateway if that is another, else its kind. */
const suffixOf = (
  { ref, remotes }: Nameable,
  holder: ResourceRef,
  remotesOfHolder: readonly CandidateRemote[] | undefined,
): string => {
  if (ref.source !== holder.source) return ref.source
  const [own, others] = [gatewayOf(remotes), gatewayOf(remotesOfHolder)]
  const name = own?.slice(own.indexOf('/') + 1)
  return name !== undefined && others !== undefined && own !== others ? name : ref.kind.toLowerCase()
}

/**
 * Names are sticky and never taken over: whoever had one keeps it, and what is withdrawn holds it while its tombstone
 * lives. New ones choose in the order of `claimants`; who finds the name taken gets it with a suffix, or none.
 */
export const assignNames = <T extends Nameable>(
  claimants: readonly T[],
  previous: readonly EntryState[],
): NameAssignment<T> => {
  const holders = new Map<string, ResourceRef>()
  const held = new Map<string, string>()
  const remotesOf = new Map(claimants.map(({ ref, remotes }) => [subjectKey(ref), remotes]))
  for (const { name, owner, wantedName } of previous) {
    holders.set(name, owner)
    held.set(`${subjectKey(owner)} ${wantedName}`, name)
  }
  const named: Named<T>[] = []
  const findings: Finding[] = []
  for (const claimant of claimants) {
    const { ref, wantedName } = claimant
    const before = held.get(`${subjectKey(ref)} ${wantedName}`)
    const holder = holders.get(wantedName)
    const isFree = (name: string): boolean => subjectKey(holders.get(name) ?? ref) === subjectKey(ref)
    const suffixed =
      holder === undefined
        ? wantedName
        : `${wantedName}-${suffixOf(claimant, holder, remotesOf.get(subjectKey(holder)))}`
    const name = before ?? [wantedName, suffixed].find((each) => isFree(each) && isServerName(each))
    const conflict = { code: 'NameConflict', wanted: wantedName, ...(holder !== undefined && { holder }) } as const
    if (name === undefined) {
      findings.push(findingOf(ref, conflict))
      continue
    }
    if (name !== wantedName) findings.push(findingOf(ref, { ...conflict, listedAs: name }, 'degraded'))
    holders.set(name, ref)
    named.push({ claimant, name })
  }
  return { named, findings }
}
