import { compareFindings, FINDING_CODES, type Finding } from '../model/finding.ts'
import { subjectKey } from '../model/resource.ts'
import type { Compiled } from './compile.ts'

const RANK = new Map(Object.keys(FINDING_CODES).map((code, index) => [code, index]))

/** These keep a subject out without an effect of their own: nobody asked for it, or its route says why. */
const QUIET_OBSTACLES: readonly string[] = ['NotExported', 'NotSelected', 'RouteWithoutUrl']
const isObstacle = ({ code, effect }: Finding): boolean => effect === 'skipped' || QUIET_OBSTACLES.includes(code)

/** The obstacle to remove first: codes stand in that order in their table. */
export const isBefore = (a: Finding, b: Finding): boolean => {
  if (isObstacle(a) !== isObstacle(b)) return isObstacle(a)
  return (RANK.get(a.code) ?? 0) < (RANK.get(b.code) ?? 0)
}

const decisiveAmong = (about: readonly Finding[]): Finding | undefined => {
  const marked = about.find(({ decisive }) => decisive)
  if (marked !== undefined) return marked
  // A route that gives a URL is in no registry itself, and is none the worse for it.
  const candidates = about[0]?.subject.kind === 'HTTPRoute' ? about.filter(isObstacle) : about
  return candidates.reduce<Finding | undefined>(
    (first, each) => (first === undefined || isBefore(each, first) ? each : first),
    undefined,
  )
}

/**
 * All findings of one sync, in their order. Of those about a subject that is listed in no registry (a route: that gives
 * no URL) exactly one is decisive; whoever followed a route has marked its own.
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
    .filter((finding, index, all) => index === 0 || compareFindings(finding, all[index - 1] ?? finding) !== 0)
  const decisive = new Set<Finding>()
  for (const [subject, about] of Map.groupBy(sorted, (finding) => subjectKey(finding.subject))) {
    const first = listed.has(subject) ? undefined : decisiveAmong(about)
    if (first !== undefined) decisive.add(first)
  }
  return sorted.map((finding) => (decisive.has(finding) ? { ...finding, decisive: true } : finding))
}
