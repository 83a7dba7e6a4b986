import type { Condition } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'

export const conditionOf = (conditions: readonly Condition[], type: string): Condition | undefined =>
  conditions.find((condition) => condition.type === type)

/** What a controller said: its reason, and its message where it has one. */
export const saying = (condition: Condition | undefined): string =>
  printable([condition?.reason, condition?.message].filter(Boolean).join(': '), 200)
