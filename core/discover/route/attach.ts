import { FINDING_CODES } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { join, type Obstacle, obstacle, type Step, stopped } from './diagnostic.ts'
import { placeName } from './find-parent.ts'
import type { Landscape } from './landscape.ts'
import { type Attachment, attachToListeners } from './listeners.ts'
import { attachToParent, parentRefsOf } from './parents.ts'

/** Where a route is attached; and where it would be, but for something that passes by itself. */
export type Attached = Step<Attachment> & {
  readonly route: HttpRoute
  readonly pending: readonly Attachment[]
  /** Parents that could not be read, whose listeners nobody knows. */
  readonly unread: readonly string[]
}

const isPending = (stop: Obstacle): boolean => (stop.class ?? FINDING_CODES[stop.finding.code][0]) === 'pending'

/** The parents and listeners that carry a route. Asked of every route: those that are not exported compete too. */
export const attach = (route: HttpRoute, landscape: Landscape): Attached => {
  const refs = parentRefsOf(route, landscape)
  if (refs.length === 0)
    return { route, pending: [], unread: [], ...stopped(obstacle('route', 'NoParentRefs', 'parentRefs')) }
  const pending: Attachment[] = []
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
    pending.push(...listeners.pending, ...(found.length === 0 ? listeners.found : []))
    return found.length === 0 ? [own] : [own, listeners]
  })
  return { route, pending, unread, ...join(steps) }
}
