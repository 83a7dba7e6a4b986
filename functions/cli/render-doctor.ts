import { canonicalJson } from '../../core/model/canonical-json.ts'
import { printable } from '../../core/model/printable.ts'
import type { ClusterCheck, RoleRule } from '../../core/ports.ts'

/** What was found at one place: a source, or the store. */
export type Examined = { readonly of: string; readonly checks: readonly ClusterCheck[] }

const names = (checks: readonly ClusterCheck[]): string => checks.map(({ what }) => what).join(', ')

/** All of a topic that is fine, in one line. */
const SUMMARIES: Readonly<Record<ClusterCheck['topic'], (fine: readonly ClusterCheck[], of: number) => string>> = {
  server: names,
  kinds: (fine) => `installed: ${names(fine)}`,
  absent: (fine) => `not installed, and not needed: ${names(fine)}`,
  read: (fine, of) => `has ${fine.length} of ${of} rights to read`,
  watch: (fine, of) => `has ${fine.length} of ${of} rights to watch`,
  lease: (fine) => `may ${fine.map(({ verb }) => verb).join(', ')} the Lease of waypost watch`,
  events: (fine) => `may create ${names(fine)}`,
  store: names,
}

const lineOf = (mark: string, text: string): string => `  ${mark.padEnd(4)}  ${printable(text, 2_000)}\n`

/** Rights that are missing, with all that is missing in the same way. */
type Missing = {
  readonly verbs: readonly string[]
  readonly isNeeded: boolean
  readonly note?: string | undefined
  readonly rule: RoleRule
}

const missingIn = (checks: readonly ClusterCheck[]): readonly Missing[] => {
  // What may be neither listed nor watched is one problem, which one rule mends.
  const byRule = Map.groupBy(
    checks.filter((check) => !check.isFine && check.rule !== undefined),
    ({ rule }) => canonicalJson(rule),
  )
  const single = [...byRule.values()].flatMap((own): readonly Missing[] => {
    const [first] = own
    if (first?.rule === undefined) return []
    const isNeeded = own.some((each) => each.isNeeded)
    return [
      {
        verbs: own.flatMap(({ verb }) => verb ?? []),
        isNeeded,
        note: isNeeded ? undefined : first.note,
        rule: first.rule,
      },
    ]
  })
  const alike = Map.groupBy(single, ({ rule: { resources: _, ...rule }, ...rest }) => canonicalJson({ ...rest, rule }))
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const resources = [first, ...others].flatMap(({ rule }) => rule.resources)
    return [{ ...first, rule: { ...first.rule, resources } }]
  })
}

const quoted = (texts: readonly string[]): string => `[${texts.map((text) => `"${text}"`).join(', ')}]`

const problemOf = ({ verbs, isNeeded, note, rule }: Missing): string => {
  const { apiGroups, resources, namespace } = rule
  const of = apiGroups[0] === '' ? '' : ` of ${apiGroups.join(', ')}`
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`
  const what = `may not ${verbs.join(', ')} ${resources.join(', ')}${of} ${where}${note === undefined ? '' : ` (${note})`}`
  const line = `{ apiGroups: ${quoted(apiGroups)}, resources: ${quoted(resources)}, verbs: ${quoted(rule.verbs)} }`
  const fix = namespace === undefined ? `Add to a ClusterRole: ${line}` : `Add to a Role: ${line} ${where}`
  return `${lineOf(isNeeded ? 'FAIL' : 'warn', what)}${lineOf('', fix)}`
}

/** What is fine in a line a topic, and then each problem with what to do. */
export const renderExamined = ({ of, checks }: Examined): string => {
  const fine = Map.groupBy(
    checks.filter(({ isFine }) => isFine),
    ({ topic }) => topic,
  )
  const others = checks.filter(({ isFine, rule }) => !isFine && rule === undefined)
  return [
    `${printable(of, 300)}\n`,
    ...[...fine].map(([topic, own]) => {
      const all = checks.filter((check) => check.topic === topic)
      return lineOf('ok', SUMMARIES[topic](own, all.length))
    }),
    ...others.map(
      ({ isNeeded, what, fix }) =>
        `${lineOf(isNeeded ? 'FAIL' : 'warn', what)}${fix === undefined ? '' : lineOf('', fix)}`,
    ),
    ...missingIn(checks)
      .toSorted((a, b) => Number(b.isNeeded) - Number(a.isNeeded))
      .map(problemOf),
  ].join('')
}
