import { isWithdrawn } from '../model/opt-out.ts'
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

/** How a person names a loss to approve it: a resource, or a whole kind. */
export const lossOf = ({ source, kind, namespace, name }: Subject): string => [source, kind, namespace, name].join('/')
export const kindLossOf = (source: string, kind: string): string => `${source}/${kind}`

/** The resources of a read by their key; those that cannot be parsed are not among them. */
export const presentIn = ({ source, resources }: Snapshot): ReadonlyMap<string, McpResource> =>
  new Map(resources.map((each) => [subjectKey({ source, kind: each.kind, ...each.meta }), each]))

export const isInScope = ({ namespaces }: Snapshot['scope'], { namespace }: Subject): boolean =>
  namespaces.length === 0 || namespaces.includes(namespace)

const activeOf = (source: string, states: readonly RegistryState[]): readonly EntryState[] => {
  const active = states
    .flatMap(({ entries }) => entries)
    .filter(({ status, owner }) => status === 'active' && owner.source === source)
  return [...new Map(active.map((entry) => [subjectKey(entry.owner), entry])).values()]
}

/**
 * What was listed and has vanished from a whole read: its resource, or the last route that led to it, is not there or
 * cannot be parsed. Who opted out, is terminating or was refused is still there; who is outside the namespaces now was
 * left out on purpose.
 */
export const findLosses = (
  snapshot: Snapshot,
  asking: ReadonlySet<string>,
  states: readonly RegistryState[],
): Losses => {
  const { source, scope } = snapshot
  const active = activeOf(source, states)
  const present = presentIn(snapshot)
  const routes = new Set(snapshot.routes.map(({ meta }) => `${meta.namespace}/${meta.name}`))
  const isLost = ({ owner, remotes }: EntryState): boolean => {
    if (asking.has(subjectKey(owner)) || !isInScope(scope, owner)) return false
    const resource = present.get(subjectKey(owner))
    if (resource === undefined) return true
    const isRouted = remotes.length > 0 && remotes.every(({ origin }) => origin !== undefined)
    const hasRoute = remotes.some(({ origin }) => origin !== undefined && routes.has(origin.route))
    return isRouted && !hasRoute && !isWithdrawn(resource.meta)
  }
  return { lost: active.filter(isLost).map(({ owner }) => owner), active: active.length }
}

/** A read that loses this much is more likely a fault than a wish. What was approved is not counted. */
export const isShrinkRefused = (
  { lost, active }: Losses,
  maxShrink: number,
  isApproved: (loss: string) => boolean,
): boolean => {
  const unapproved = lost.filter((ref) => !isApproved(lossOf(ref)) && !isApproved(kindLossOf(ref.source, ref.kind)))
  return unapproved.length >= FEW && unapproved.length > maxShrink * active
}
