import type { FindingDetail, RouteDetail } from '../../model/finding.ts'
import type { FindingClass, RouteCode } from '../../model/route-codes.ts'

/** How far a walk came. The furthest obstacle is the one to remove first: what lies before it is passed already. */
export const STAGES = ['route', 'parent', 'gateway', 'listener', 'host', 'rule', 'backend', 'match'] as const
export type Stage = (typeof STAGES)[number]

/** Something that stopped a walk. `class` only where a code has two, `order` where obstacles are found out of order. */
export type Obstacle = {
  readonly stage: Stage
  readonly finding: FindingDetail
  readonly class?: FindingClass
  readonly order?: number
}

/** Something worth knowing about a walk that goes on. `other` is a second thing that the sentence needs. */
export const warning = (code: RouteCode, at: string, detail?: string, other?: string): RouteDetail => ({
  code,
  at,
  ...(detail !== undefined && { detail }),
  ...(other !== undefined && { other }),
})

export const obstacle = (stage: Stage, code: RouteCode, at: string, detail?: string, other?: string): Obstacle => ({
  stage,
  finding: warning(code, at, detail, other),
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

const isFurther = (a: Obstacle, b: Obstacle): boolean => {
  const stages = STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage)
  return stages === 0 ? (a.order ?? 0) < (b.order ?? 0) : stages > 0
}

/**
 * The decisive obstacle of a walk that ends without a URL: where no host was reached, the furthest on the way to a host,
 * else the furthest on the way to a path. Among equals the first in the order of the route.
 */
export const decisiveOf = (obstacles: readonly Obstacle[], reachedHost: boolean): Obstacle | undefined =>
  obstacles
    .filter(({ stage }) => STAGES.indexOf(stage) >= STAGES.indexOf('rule') === reachedHost)
    .reduce<Obstacle | undefined>(
      (furthest, each) => (furthest === undefined || isFurther(each, furthest) ? each : furthest),
      undefined,
    )
