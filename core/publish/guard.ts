import { meansNo } from '../model/opt-out.ts'
import { type ResourceRef, type Subject, subjectKey } from '../model/resource.ts'
import type { McpResource, Snapshot } from '../model/snapshot.ts'
import type { EntryState, RegistryState } from '../model/state.ts'

/** Below that, a loss is a day's work. */
const FEW = 5

export type Losses = {
  readonly lost: readonly ResourceRef[]
  /** How many entries of the source were listed. */
  readonly active: number
}

/** How a person names a loss to approve it. */
export const lossOf = ({ source, kind, namespace, name }: Subject): string => [source, kind, namespace, name].join('/')

/** Its owner says no, whatever else could or could not be read. */
const isWithdrawn = ({ meta }: McpResource): boolean =>
  meta.terminating || meta.annotations.has('authz-claims') || meansNo(meta.annotations.get('registry-export'))

/** The resources of a source that say no for themselves, also in a read that failed elsewhere. */
export const findWithdrawn = ({ source, resources }: Snapshot): ReadonlySet<string> =>
  new Set(resources.filter(isWithdrawn).map(({ kind, meta }) => subjectKey({ source, kind, ...meta })))

const activeOf = (source: string, states: readonly RegistryState[]): readonly EntryState[] => {
  const active = states
    .flatMap(({ entries }) => entries)
    .filter(({ status, owner }) => status === 'active' && owner.source === source)
  return [...new Map(active.map((entry) => [subjectKey(entry.owner), entry])).values()]
}

/**
 * What was listed and has vanished from a whole read: its resource, or the last route that led to it, is not there. Who
 * opted out, is terminating or was refused is still there; who is outside the namespaces now was left out on purpose.
 */
export const findLosses = (
  snapshot: Snapshot,
  candidates: ReadonlySet<string>,
  states: readonly RegistryState[],
): Losses => {
  const { source, scope } = snapshot
  const active = activeOf(source, states)
  const present = new Map(
    snapshot.resources.map((each) => [subjectKey({ source, kind: each.kind, ...each.meta }), each]),
  )
  const routes = new Set(snapshot.routes.map(({ meta }) => `${meta.namespace}/${meta.name}`))
  const isRouteThere = (route: string): boolean => {
    const [namespace = '', name = ''] = route.split('/')
    return routes.has(route) || snapshot.unreadable.has(subjectKey({ source, kind: 'HTTPRoute', namespace, name }))
  }
  const isLost = ({ owner, remotes }: EntryState): boolean => {
    const key = subjectKey(owner)
    if (candidates.has(key) || snapshot.unreadable.has(key)) return false
    if (scope.namespaces.length > 0 && !scope.namespaces.includes(owner.namespace)) return false
    const resource = present.get(key)
    if (resource === undefined) return true
    const isRouted = remotes.length > 0 && remotes.every(({ origin }) => origin !== undefined)
    const hasRoute = remotes.some(({ origin }) => origin !== undefined && isRouteThere(origin.route))
    return isRouted && !hasRoute && !isWithdrawn(resource)
  }
  return { lost: active.filter(isLost).map(({ owner }) => owner), active: active.length }
}

/** A read that loses this much is more likely a fault than a wish. What was approved is not counted. */
export const isShrinkRefused = (
  { lost, active }: Losses,
  maxShrink: number,
  approved: ReadonlySet<string>,
): boolean => {
  const unapproved = lost.filter((ref) => !approved.has(lossOf(ref))).length
  return unapproved >= FEW && unapproved > maxShrink * active
}
