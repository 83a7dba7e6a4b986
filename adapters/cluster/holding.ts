import { type Finding, findingOf } from '../../core/model/finding.ts'
import { isMap } from '../../core/model/is-map.ts'
import { parseObject } from '../../core/model/parse-object.ts'
import { type Subject, subjectKey } from '../../core/model/resource.ts'
import type { SnapshotObject } from '../../core/model/snapshot.ts'
import { subjectOf } from '../../core/model/subject-of.ts'
import type { ServedKind } from './discover-kinds.ts'

type Held =
  | { readonly kind: 'object'; readonly object: SnapshotObject }
  | { readonly kind: 'invalid'; readonly finding: Finding }

/** What is known of the objects of one kind. Only the fields that are used are kept. */
export type Holding = ReturnType<typeof createHolding>

export const createHolding = (source: string, served: ServedKind) => {
  const held = new Map<string, Held>()
  const subjectIn = (item: Readonly<Record<string, unknown>>): Subject =>
    // Items of the lists of built-in kinds carry no kind.
    subjectOf(source, { ...item, kind: served.kind })
  return {
    take: (item: unknown): Held | undefined => {
      if (!isMap(item)) return undefined
      const subject = subjectIn(item)
      const parsed = parseObject(served.group === '' ? 'v1' : `${served.group}/${served.version}`, served.kind, item)
      if (parsed.kind === 'other') return undefined
      const { kind } = parsed
      const next: Held =
        kind === 'object'
          ? parsed
          : {
              kind,
              finding: findingOf(subject, { code: 'ResourceInvalid', field: parsed.field, problem: parsed.problem }),
            }
      held.set(subjectKey(subject), next)
      return next
    },
    drop: (item: unknown): void => {
      if (isMap(item)) held.delete(subjectKey(subjectIn(item)))
    },
    find: (item: unknown): Held | undefined => (isMap(item) ? held.get(subjectKey(subjectIn(item))) : undefined),
    clear: (): void => held.clear(),
    objects: (): readonly SnapshotObject[] =>
      [...held.values()].flatMap((each) => (each.kind === 'object' ? each.object : [])),
    findings: (): readonly Finding[] =>
      [...held.values()].flatMap((each) => (each.kind === 'invalid' ? each.finding : [])),
  }
}
