import type { Condition, HttpRoute, ParentRef, ParentStatus } from '../../model/gateway.ts'
import { printable } from '../../model/printable.ts'
import { type Obstacle, obstacle, type Step, stopped, warning } from './diagnostic.ts'
import { findParent, type Parent } from './find-parent.ts'
import { type Landscape, nameOf } from './landscape.ts'
import { admitsNamespace } from './namespace-policy.ts'

export const conditionOf = (conditions: readonly Condition[], type: string): Condition | undefined =>
  conditions.find((condition) => condition.type === type)

const isSameRef = (a: ParentRef, b: ParentRef): boolean =>
  a.group === b.group &&
  a.kind === b.kind &&
  a.namespace === b.namespace &&
  a.name === b.name &&
  a.sectionName === b.sectionName &&
  a.port === b.port

/** The parents that a route names, and those that took it because it takes every default Gateway. */
export const parentRefsOf = (route: HttpRoute, landscape: Landscape): readonly ParentRef[] => {
  if (!route.useDefaultGateways) return route.parentRefs
  const claimed = (route.status ?? [])
    .map(({ ref }) => ref)
    .filter((ref) => landscape.gateways.get(`${ref.namespace}/${ref.name}`)?.isDefault)
  return [...route.parentRefs, ...claimed.filter((ref) => !route.parentRefs.some((own) => isSameRef(own, ref)))]
}

const judge = (
  entries: readonly ParentStatus[],
  route: HttpRoute,
  at: string,
  landscape: Landscape,
): Step<ParentStatus> => {
  if (entries.length === 0) return stopped(obstacle('parent', 'RouteStatusMissing', at))
  const accepted = entries.filter(({ conditions }) => conditionOf(conditions, 'Accepted')?.status === 'True')
  if (accepted.length === 0) {
    const condition = entries
      .map(({ conditions }) => conditionOf(conditions, 'Accepted'))
      .find((each) => each !== undefined)
    const refused: Obstacle = obstacle('parent', 'RouteNotAccepted', at, printable(condition?.reason ?? ''))
    return stopped(condition?.status === 'False' ? refused : { ...refused, class: 'pending' })
  }
  const fresh = accepted.filter(({ conditions }) => {
    const observed = conditionOf(conditions, 'Accepted')?.observedGeneration ?? 0
    return observed === 0 || observed >= route.generation
  })
  if (fresh.length > 0) return { found: fresh, obstacles: [], warnings: [] }
  if (landscape.options.staleStatus === 'pending') return stopped(obstacle('parent', 'RouteStatusStale', at))
  return { found: accepted, obstacles: [], warnings: [warning('RouteStatusStale', at)] }
}

/** Did the controller of this parent accept the route, and does it speak of the route as it is now? */
const accept = (route: HttpRoute, { ref, gateway }: Parent, at: string, landscape: Landscape): Step<ParentStatus> => {
  if (route.status === undefined && landscape.readAs === 'manifests')
    return { found: [], obstacles: [], warnings: [{ code: 'StatusAssumed', at: 'the route' }] }
  const controller = landscape.gatewayClasses.get(gateway.className)?.controllerName
  // Policy controllers write entries of their own, without Accepted.
  const entries = (route.status ?? []).filter(
    (entry) =>
      isSameRef(entry.ref, ref) &&
      conditionOf(entry.conditions, 'Accepted') !== undefined &&
      (controller === undefined || entry.controllerName === controller),
  )
  const judged = judge(entries, route, at, landscape)
  const is = (type: string, status: string): boolean =>
    judged.found.some(({ conditions }) => conditionOf(conditions, type)?.status === status)
  return {
    ...judged,
    warnings: [
      ...judged.warnings,
      ...(is('ResolvedRefs', 'False') ? [warning('RouteResolvedRefsFalse', at)] : []),
      ...(is('PartiallyInvalid', 'True') ? [warning('RoutePartiallyInvalid', at)] : []),
    ],
  }
}

/** Is the Gateway (and the ListenerSet on it) in a state to carry traffic? */
const isServing = ({ gateway, owner, isAssumed: isGuess }: Parent, landscape: Landscape): Step<never> => {
  const at = `Gateway ${nameOf(gateway)}`
  const isAssumed = !gateway.hasStatus && landscape.readAs === 'manifests'
  const accepted = conditionOf(gateway.conditions, 'Accepted')
  if (accepted !== undefined && accepted.status !== 'True') {
    const refused = obstacle('gateway', 'GatewayNotAccepted', at, printable(accepted.reason))
    return stopped(accepted.status === 'False' ? refused : { ...refused, class: 'pending' })
  }
  if (gateway.addresses.length === 0 && landscape.options.requireAddress && !isAssumed)
    return stopped(obstacle('gateway', 'GatewayAddressPending', at))
  if (owner.kind === 'ListenerSet') {
    const place = `ListenerSet ${nameOf(owner)}`
    if (admitsNamespace(gateway.allowedListeners, owner.meta.namespace, gateway.meta.namespace, landscape) !== 'yes')
      return stopped(obstacle('gateway', 'ListenerSetNotAllowed', place, at))
    const isAccepted =
      conditionOf(owner.conditions, 'Accepted')?.status === 'True' ||
      (!owner.hasStatus && landscape.readAs === 'manifests')
    if (!isAccepted) return stopped(obstacle('gateway', 'ListenerSetNotAccepted', place))
  }
  const isUnprogrammed = conditionOf(gateway.conditions, 'Programmed')?.status === 'False'
  return {
    found: [],
    obstacles: [],
    warnings: [
      ...(isUnprogrammed ? [warning('GatewayNotProgrammed', at)] : []),
      ...(isAssumed && !isGuess ? [{ code: 'StatusAssumed', at } as const] : []),
    ],
  }
}

/** One parent of a route: found, accepting it, and serving; else the first thing in the way. */
export const attachToParent = (route: HttpRoute, ref: ParentRef, at: string, landscape: Landscape): Step<Parent> => {
  const { found, obstacles, warnings } = findParent(ref, at, landscape)
  const [parent] = found
  if (parent === undefined) return { found, obstacles, warnings }
  const accepted = accept(route, parent, at, landscape)
  if (accepted.obstacles.length > 0)
    return { found: [], obstacles: accepted.obstacles, warnings: [...warnings, ...accepted.warnings] }
  const serving = isServing(parent, landscape)
  const all = [...warnings, ...accepted.warnings, ...serving.warnings]
  return { found: serving.obstacles.length > 0 ? [] : [parent], obstacles: serving.obstacles, warnings: all }
}
