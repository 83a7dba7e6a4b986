import type { Claims } from '../model/candidate.ts'
import type { FindingDetail } from '../model/finding.ts'
import { isMap } from '../model/is-map.ts'
import type { McpResource } from '../model/snapshot.ts'
import { readJson } from './fields.ts'

export type ReadClaims =
  | { readonly kind: 'none' }
  | { readonly kind: 'claims'; readonly claims: Claims }
  | { readonly kind: 'bad'; readonly finding: FindingDetail }

const isClaim = (value: unknown): value is string | readonly string[] =>
  typeof value === 'string' || (Array.isArray(value) && value.every((each) => typeof each === 'string'))

/** Who may see the entry. Claims that cannot be read hide it: nobody can be shown to satisfy them. */
export const readClaims = (resource: McpResource): ReadClaims => {
  if (!resource.meta.annotations.has('authz-claims')) return { kind: 'none' }
  const { value } = readJson(resource, 'authz-claims')
  if (!isMap(value)) {
    return { kind: 'bad', finding: { code: 'ClaimsInvalid', problem: 'is not a JSON object' } }
  }
  const claims = Object.entries(value)
  if (!claims.every((claim): claim is [string, string | readonly string[]] => isClaim(claim[1]))) {
    return {
      kind: 'bad',
      finding: { code: 'ClaimsInvalid', problem: 'has a value that is neither a string nor an array of strings' },
    }
  }
  return { kind: 'claims', claims: Object.fromEntries(claims) }
}
