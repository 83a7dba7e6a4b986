import { FINDING_CODES } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { join, type Obstacle, obstacle, type Step, stopped } from './diagnostic.ts'
import type { Landscape } from './landscape.ts'
import { type Attachment, attachToListeners } from './listeners.ts'
import { attachToParent, parentRefsOf } from './parents.ts'

/** A way to a URL that is closed by something that passes by itself. */
export type PendingWalk = { readonly parent: string; readonly listener: string | undefined }

/** Where a route is attached, and where it would be but for something that passes. */
export type Attached = Step<Attachment> & { readonly route: HttpRoute; readonly pending: readonly PendingWalk[] }

const isPending = (stop: Obstacle): boolean => (stop.class ?? FINDING_CODES[stop.finding.code][0]) === 'pending'

/** The parents and listeners that carry a route. Asked of every route: those that are not exported compete too. */
export const attach = (route: HttpRoute, landscape: Landscape): Attached => {
  const refs = parentRefsOf(route, landscape)
  if (refs.length === 0) return { route, pending: [], ...stopped(obstacle('route', 'NoParentRefs', 'parentRefs')) }
  const pending: PendingWalk[] = []
  const steps = refs.flatMap((ref, index): readonly Step<Attachment>[] => {
    const at = `parentRefs[${index}]`
    const parentName = `${ref.kind} ${ref.namespace}/${ref.name}`
    const parents = attachToParent(route, ref, at, landscape)
    if (parents.obstacles.some(isPending)) pending.push({ parent: parentName, listener: undefined })
    const listeners = parents.found.map((parent) => attachToListeners(route, parent, at, landscape))
    for (const { obstacles } of listeners) {
      for (const stop of obstacles)
        if (isPending(stop) && stop.listener !== undefined)
          pending.push({ parent: parentName, listener: stop.listener })
    }
    return [{ found: [], obstacles: parents.obstacles, warnings: parents.warnings }, ...listeners]
  })
  return { route, pending, ...join(steps) }
}
