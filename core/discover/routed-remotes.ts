import type { CandidateRemote, PendingRemotes } from '../model/candidate.ts'
import type { FindingDetail } from '../model/finding.ts'
import type { McpResource } from '../model/snapshot.ts'
import { nameOf } from './route/landscape.ts'
import type { RouteWalk } from './route/walk.ts'
import { readTransport } from './transport.ts'

export type RoutedRemotes = {
  readonly remotes: readonly CandidateRemote[]
  readonly findings: readonly FindingDetail[]
}

/** The remotes of a resource that routes lead to. */
export const remotesThrough = (walks: readonly RouteWalk[], resource: McpResource): RoutedRemotes => {
  const transport = readTransport(resource)
  if (transport.kind === 'bad') return { remotes: [], findings: [transport.finding] }
  const remotes = walks
    .flatMap(({ endpoints }) => endpoints)
    .filter((endpoint) => endpoint.resource === resource)
    .map(
      ({ url, resource: _, listenerPort: __, ...origin }): CandidateRemote => ({
        type: transport.transport,
        url,
        origin,
      }),
    )
  return { remotes, findings: [] }
}

/** The ways to a resource that are only closed for the moment: what was listed through them stays for the grace. */
export const pendingThrough = (walks: readonly RouteWalk[], resource: McpResource): readonly PendingRemotes[] =>
  walks.flatMap(({ route, targets, pending }) => {
    const paths = targets.filter(({ backend }) => backend.resource === resource).flatMap((target) => target.paths)
    return pending.map(({ parent, listener }) => ({
      route: nameOf(route),
      parent,
      ...(listener !== undefined && { listener }),
      paths,
    }))
  })
