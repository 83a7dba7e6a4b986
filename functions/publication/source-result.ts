import type { Candidate } from '../../core/model/candidate.ts'
import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { type Finding, isQuiet } from '../../core/model/finding.ts'
import { isMap } from '../../core/model/is-map.ts'
import { compareBy, compareText } from '../../core/model/order.ts'
import { subjectKey } from '../../core/model/resource.ts'
import type { BlobStore } from '../../core/ports.ts'
import { sourceKeys } from './keys.ts'
import { DamagedObject } from './objects.ts'
import { type Paged, readPaged, toPaged } from './paged.ts'

/** What a source gave, as it is kept for the time when it cannot be read. */
export type SourceResult = { readonly candidates: readonly Candidate[]; readonly findings: readonly Finding[] }

/** One that is stored; `content` is the digest of what a registry is made of, without what is only said about it. */
export type StoredResult = SourceResult & { readonly hash: string; readonly content: string }

const candidateItem = (candidate: Candidate) => ({ key: subjectKey(candidate.ref), json: canonicalJson(candidate) })

/** The order of the objects in the cluster is not kept: the same servers are the same result. */
const inOrder = <T extends { readonly key: string; readonly json: string }>(items: readonly T[]): readonly T[] =>
  items.toSorted(
    compareBy(
      (a, b) => compareText(a.key, b.key),
      (a, b) => compareText(a.json, b.json),
    ),
  )

/** What never asked to be listed is not kept: there may be thousands, and nothing is decided by it. */
export const toResultObject = ({ candidates, findings }: SourceResult): Paged =>
  toPaged(
    {},
    {
      candidates: inOrder(candidates.map(candidateItem)),
      findings: inOrder(
        findings
          .filter((finding) => !isQuiet(finding))
          .map((finding) => ({ key: subjectKey(finding.subject), json: canonicalJson(finding) })),
      ),
    },
  )

/** The pages of the candidates stand for them. */
export const contentOf = ({ lists }: Pick<Paged, 'lists'>): string => digestOf((lists.candidates ?? []).join(' '))

const isCandidate = (value: unknown): value is Candidate =>
  isMap(value) &&
  isMap(value.ref) &&
  typeof value.wantedName === 'string' &&
  typeof value.description === 'string' &&
  typeof value.version === 'string' &&
  Array.isArray(value.remotes) &&
  Array.isArray(value.pending)

const isFinding = (value: unknown): value is Finding =>
  isMap(value) && typeof value.code === 'string' && isMap(value.subject)

export const readResult = async (store: BlobStore, source: string, hash: string): Promise<StoredResult> => {
  const key = sourceKeys(source).result
  const paged = await readPaged(store, key, hash)
  if (paged === undefined) throw new DamagedObject(key(hash), 'it is missing')
  const [candidates, findings] = [paged.list('candidates'), paged.list('findings')]
  if (!candidates.every(isCandidate) || !findings.every(isFinding))
    throw new DamagedObject(key(hash), 'it has another shape than we write')
  return { candidates, findings, hash, content: contentOf(paged) }
}
