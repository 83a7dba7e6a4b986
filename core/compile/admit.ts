import type { Candidate } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { sourceSubject } from '../model/resource.ts'
import type { RegistryInputs } from './compile.ts'

export type Admitted = { readonly candidates: readonly Candidate[]; readonly findings: readonly Finding[] }

/** Who may be in this registry at all. Whatever claims restrict stays out: it is never open by omission. */
export const admit = (inputs: RegistryInputs): Admitted => {
  const candidates: Candidate[] = []
  const findings: Finding[] = []
  for (const source of inputs.sources) {
    const restricted = source.hasClaims ? 'source' : inputs.hasClaims ? 'registry' : undefined
    if (restricted !== undefined)
      findings.push(findingOf(sourceSubject(source.name), { code: 'ClaimsUnsupported', of: restricted }))
    for (const candidate of source.candidates) {
      if (restricted !== undefined)
        findings.push(findingOf(candidate.ref, { code: 'ClaimsUnsupported', of: restricted }))
      else if (candidate.claims !== undefined) findings.push(findingOf(candidate.ref, { code: 'ClaimsRestricted' }))
      else candidates.push(candidate)
    }
  }
  return { candidates, findings }
}
