import type { CandidateRemote, PendingWay } from '../model/candidate.ts'
import type { FindingDetail } from '../model/finding.ts'
import type { McpResource } from '../model/snapshot.ts'
import { fullNameOf, nameOf } from './route/landscape.ts'
import type { RouteEndpoint } from './route/url.ts'
import type { RouteWalk } from './route/walk.ts'
import { readTransport } from './transport.ts'

/** What one route has for one resource: the walk as a whole, the URLs for the resource, and the paths that lead to it. */
export type ResourceWalk = {
  readonly walk: RouteWalk
  readonly endpoints: readonly RouteEndpoint[]
  readonly paths: readonly string[]
}

export type RoutedRemotes = {
  readonly remotes: readonly CandidateRemote[]
  readonly findings: readonly FindingDetail[]
}

/** The remotes of a resource that routes lead to, and the routes that lead to it without a URL. */
export const remotesThrough = (walks: readonly ResourceWalk[], resource: McpResource): RoutedRemotes => {
  const transport = readTransport(resource)
  const without = walks
    .filter(({ endpoints }) => endpoints.length === 0)
    .map(({ walk }): FindingDetail => ({ code: 'RouteWithoutUrl', route: nameOf(walk.route) }))
  if (transport.kind === 'bad') return { remotes: [], findings: [transport.finding, ...without] }
  const remotes = walks
    .flatMap(({ endpoints }) => endpoints)
    .map(
      ({ url, resource: _, listenerPort: __, ...origin }): CandidateRemote => ({
        type: transport.transport,
        url,
        origin,
      }),
    )
  return { remotes, findings: remotes.length > 0 ? [] : without }
}

/** The ways to a resource that are only closed for the moment: what was listed through them stays for the grace. */
export const pendingThrough = (walks: readonly ResourceWalk[]): readonly PendingWay[] =>
  walks
    .filter(({ paths }) => paths.length > 0)
    .flatMap(({ walk, paths }) => {
      const route = nameOf(walk.route)
      return [
        ...walk.pending.map(
          ({ attachment: { parent, listener }, hostPattern, isJudged }): PendingWay => ({
            kind: 'route',
            route,
            owner: fullNameOf(parent.owner),
            at: { listener: listener.name, hostPattern },
            ...(isJudged && { paths }),
          }),
        ),
        ...walk.unread.map((owner): PendingWay => ({ kind: 'route', route, owner, paths })),
      ]
    })

/** The ways of remotes that are healthy themselves, of a resource that is not ready. */
export const waysOf = (remotes: readonly CandidateRemote[]): readonly PendingWay[] =>
  remotes.map(({ url, origin }) =>
    origin === undefined
      ? { kind: 'direct', url }
      : {
          kind: 'route',
          route: origin.route,
          owner: origin.owner,
          at: { listener: origin.listener, hostPattern: origin.host },
          paths: [origin.path],
        },
  )
