import type { FindingDetail } from '../../model/finding.ts'
import type { FindingClass, RouteCode } from '../../model/route-codes.ts'

/** How far a walk came. The furthest obstacle is the one to remove first: what lies before it is passed already. */
export const STAGES = [
  'route',
  'parent',
  'gateway',
  'listener',
  'hostname',
  'host',
  'rule',
  'backend',
  'match',
] as const
export type Stage = (typeof STAGES)[number]

/** Something that stopped a walk. `class` only where a code has two, `listener` where it stopped at one. */
export type Obstacle = {
  readonly stage: Stage
  readonly finding: FindingDetail
  readonly class?: FindingClass
  readonly listener?: string
}

export const obstacle = (stage: Stage, code: RouteCode, at: string, detail?: string): Obstacle => ({
  stage,
  finding: { code, at, ...(detail !== undefined && { detail }) },
})

/** Something worth knowing about a walk that goes on. */
export const warning = (code: RouteCode, at: string, detail?: string): FindingDetail => ({
  code,
  at,
  ...(detail !== undefined && { detail }),
})

/** The answer of one step: what it found, or what is in the way, and what it noticed in both cases. */
export type Step<T> = {
  readonly found: readonly T[]
  readonly obstacles: readonly Obstacle[]
  readonly warnings: readonly FindingDetail[]
}

export const stopped = (...obstacles: readonly Obstacle[]): Step<never> => ({ found: [], obstacles, warnings: [] })

/** Several walks as one, in order. */
export const join = <T>(steps: readonly Step<T>[]): Step<T> => ({
  found: steps.flatMap(({ found }) => found),
  obstacles: steps.flatMap(({ obstacles }) => obstacles),
  warnings: steps.flatMap(({ warnings }) => warnings),
})

/**
 * The decisive obstacle of a walk that ends without a URL: where no host was reached, the furthest on the way to a host,
 * else the furthest on the way to a path. Among equals the first in the order of the route.
 */
export const decisiveOf = (obstacles: readonly Obstacle[], reachedHost: boolean): Obstacle | undefined => {
  const isOnWay = ({ stage }: Obstacle): boolean => STAGES.indexOf(stage) >= STAGES.indexOf('rule') === reachedHost
  return obstacles
    .filter(isOnWay)
    .reduce<Obstacle | undefined>(
      (furthest, each) =>
        furthest === undefined || STAGES.indexOf(each.stage) > STAGES.indexOf(furthest.stage) ? each : furthest,
      undefined,
    )
}
