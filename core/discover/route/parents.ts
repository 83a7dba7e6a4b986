import type { HttpRoute, ParentRef, ParentStatus } from '../../model/gateway.ts'
import { conditionOf, saying } from './condition.ts'
import { type Obstacle, obstacle, type Step, stopped, warning } from './diagnostic.ts'
import { findParent, type Parent } from './find-parent.ts'
import { fullNameOf, type Landscape } from './landscape.ts'
import { whyNotAttached } from './listener-set.ts'

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

/** `False` is an answer; anything else is none yet. */
const refused = (stop: Obstacle, status: string | undefined): Obstacle =>
  status === 'False' ? stop : { ...stop, class: 'pending' }

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
    return stopped(refused(obstacle('parent', 'RouteNotAccepted', at, saying(condition)), condition?.status))
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
    return { found: [], obstacles: [], warnings: [{ code: 'StatusAssumed', at: 'The route' }] }
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
  const warnings = [
    ...judged.warnings,
    ...(is('ResolvedRefs', 'False') ? [warning('RouteResolvedRefsFalse', at)] : []),
    ...(is('PartiallyInvalid', 'True') ? [warning('RoutePartiallyInvalid', at)] : []),
  ]
  return { ...judged, warnings }
}

/** Is the Gateway (and the ListenerSet on it) in a state to carry traffic? */
const serve = ({ gateway, owner, isAssumed }: Parent, landscape: Landscape): Step<never> => {
  const at = fullNameOf(gateway)
  const isTrusted = landscape.readAs === 'manifests'
  const accepted = conditionOf(gateway.conditions, 'Accepted')
  // A Gateway that nobody has looked at yet has no status; the API server would say Unknown.
  const isUnanswered = !gateway.hasStatus && !isTrusted
  if (isUnanswered || (accepted !== undefined && accepted.status !== 'True')) {
    return stopped(refused(obstacle('gateway', 'GatewayNotAccepted', at, saying(accepted)), accepted?.status))
  }
  const needsAddress = landscape.options.requireAddress && (gateway.hasStatus || !isTrusted)
  if (gateway.addresses.length === 0 && needsAddress) return stopped(obstacle('gateway', 'GatewayAddressPending', at))
  const detached = owner.kind === 'ListenerSet' ? whyNotAttached(owner, gateway, landscape) : undefined
  if (detached !== undefined) return stopped(detached)
  const isUnprogrammed = conditionOf(gateway.conditions, 'Programmed')?.status === 'False'
  const guesses = [...(isAssumed ? [] : [gateway]), ...(owner.kind === 'ListenerSet' ? [owner] : [])].filter(
    ({ hasStatus }) => !hasStatus,
  )
  const warnings = [
    ...(isUnprogrammed ? [warning('GatewayNotProgrammed', at)] : []),
    ...guesses.map((guess) => ({ code: 'StatusAssumed', at: fullNameOf(guess) }) as const),
  ]
  return { found: [], obstacles: [], warnings }
}

/** A parent as far as it is known, and what is in the way of attaching to it: the first thing only. */
export type ParentAnswer = Step<Parent> & { readonly known: Parent | undefined }

/** One parent of a route: found, accepting it, and serving. */
export const attachToParent = (route: HttpRoute, ref: ParentRef, at: string, landscape: Landscape): ParentAnswer => {
  const step = findParent(ref, at, landscape)
  const [known] = step.found
  if (known === undefined) return { ...step, known }
  const accepted = accept(route, known, at, landscape)
  const serving = accepted.obstacles.length > 0 ? stopped() : serve(known, landscape)
  const obstacles = [...accepted.obstacles, ...serving.obstacles]
  return {
    known,
    found: obstacles.length > 0 ? [] : [known],
    obstacles,
    warnings: [...step.warnings, ...accepted.warnings, ...serving.warnings],
  }
}
