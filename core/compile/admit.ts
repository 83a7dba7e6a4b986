import type { Candidate } from '../model/candidate.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import type { RegistryInputs } from './compile.ts'

export type Admitted = { readonly candidates: readonly Candidate[]; readonly findings: readonly Finding[] }

/** Who may be in this registry at all. Whatever claims restrict stays out: it is never open by omission. */
export const admit = (inputs: RegistryInputs): Admitted => {
  const candidates: Candidate[] = []
  const findings: Finding[] = []
  for (const source of inputs.sources) {
    const subject = { source: source.name, kind: 'Source', namespace: '', name: source.name }
    if (source.hasClaims || inputs.hasClaims) findings.push(findingOf(subject, { code: 'ClaimsUnsupported' }))
    else {
      for (const candidate of source.candidates) {
        if (candidate.claims === undefined) candidates.push(candidate)
        else findings.push(findingOf(candidate.ref, { code: 'ClaimsRestricted' }))
      }
    }
  }
  return { candidates, findings }
}
