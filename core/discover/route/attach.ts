import { FINDING_CODES } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { join, type Obstacle, obstacle, type Step, stopped } from './diagnostic.ts'
import { placeName } from './find-parent.ts'
import type { Landscape } from './landscape.ts'
import { type Attachment, attachToListeners } from './listeners.ts'
import { attachToParent, parentRefsOf } from './parents.ts'

/** An attachment that waits; for the route itself to be judged, or for what carries it. */
export type PendingAttachment = { readonly attachment: Attachment; readonly isJudged: boolean }

/** Where a route is attached; and where it would be, but for something that passes by itself. */
export type Attached = Step<Attachment> & {
  readonly route: HttpRoute
  readonly pending: readonly PendingAttachment[]
  /** Parents that could not be read, whose listeners nobody knows. */
  readonly unread: readonly string[]
}

const isPending = (stop: Obstacle): boolean => (stop.class ?? FINDING_CODES[stop.finding.code][0]) === 'pending'

/** The parents and listeners that carry a route. Asked of every route: those that are not exported compete too. */
export const attach = (route: HttpRoute, landscape: Landscape): Attached => {
  const refs = parentRefsOf(route, landscape)
  if (refs.length === 0)
    return { route, pending: [], unread: [], ...stopped(obstacle('route', 'NoParentRefs', 'parentRefs')) }
  const pending: PendingAttachment[] = []
  const unread: string[] = []
  const steps = refs.flatMap((ref, index): readonly Step<Attachment>[] => {
    const at = `parentRefs[${index}]`
    const { known, found, obstacles, warnings } = attachToParent(route, ref, at, landscape)
    const own = { found: [], obstacles, warnings }
    if (known === undefined) {
      if (obstacles.some(isPending)) unread.push(placeName(ref))
      return [own]
    }
    if (found.length === 0 && !obstacles.every(isPending)) return [own]
    // What is in the way of a pending parent passes; what its listeners say about the route does not.
    const listeners = attachToListeners(route, known, at, landscape)
    const isJudged = obstacles.every(({ stage }) => stage !== 'parent')
    const waiting = found.length === 0 ? [...listeners.pending, ...listeners.found] : listeners.pending
    pending.push(...waiting.map((attachment) => ({ attachment, isJudged })))
    return found.length === 0 ? [own] : [own, listeners]
  })
  return { route, pending, unread, ...join(steps) }
}
