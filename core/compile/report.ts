import { compareFindings, FINDING_CODES, type Finding } from '../model/finding.ts'
import { subjectKey } from '../model/resource.ts'
import type { Compiled } from './compile.ts'

const RANK = new Map(Object.keys(FINDING_CODES).map((code, index) => [code, index]))

/** Did this keep the subject out? These two say so without an effect: nobody asked for it to be in. */
const isObstacle = ({ code, effect }: Finding): boolean =>
  effect === 'skipped' || code === 'NotExported' || code === 'NotSelected'

/** The obstacle to remove first: codes stand in that order in their table. */
const isBefore = (a: Finding, b: Finding): boolean => {
  if (isObstacle(a) !== isObstacle(b)) return isObstacle(a)
  return (RANK.get(a.code) ?? 0) < (RANK.get(b.code) ?? 0)
}

/**
 * All findings of one sync, in their order. Of those about a subject that is listed in no registry, exactly one is
 * decisive.
 */
export const orderFindings = (findings: readonly Finding[], registries: readonly Compiled[]): readonly Finding[] => {
  const listed = new Set(
    registries.flatMap(({ state }) =>
      state.entries.filter(({ status }) => status === 'active').map(({ owner }) => subjectKey(owner)),
    ),
  )
  // A list with ten items that are no objects says so once.
  const sorted = [...findings]
    .sort(compareFindings)
    .filter((finding, index, all) => compareFindings(finding, all[index - 1] ?? finding) !== 0 || index === 0)
  const decisive = new Map<string, Finding>()
  for (const finding of sorted) {
    const key = subjectKey(finding.subject)
    const first = decisive.get(key)
    if (!listed.has(key) && (first === undefined || isBefore(finding, first))) decisive.set(key, finding)
  }
  return sorted.map((finding) =>
    decisive.get(subjectKey(finding.subject)) === finding ? { ...finding, decisive: true } : finding,
  )
}
