import { canonicalJson } from '../../model/canonical-json.ts'
import { type Finding, type FindingDetail, findingOf } from '../../model/finding.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import { withoutOutshone } from '../../model/outshone.ts'
import type { Subject } from '../../model/resource.ts'
import type { Snapshot } from '../../model/snapshot.ts'
import { rangeOfHost } from '../endpoint.ts'
import { readExport } from '../opt-in.ts'
import type { DiscoveryOptions } from '../options.ts'
import { attach } from './attach.ts'
import { holdCompetition, routeOrder } from './competition.ts'
import { decisiveOf, type Obstacle, obstacle, warning } from './diagnostic.ts'
import { indexSiblings } from './hosts.ts'
import { type Landscape, surveyOf } from './landscape.ts'
import type { RouteEndpoint } from './url.ts'
import { type RouteWalk, walkRoute } from './walk.ts'

export type RouteDiscovery = { readonly walks: readonly RouteWalk[]; readonly findings: readonly Finding[] }

export const routeSubject = (source: string, { meta }: HttpRoute): Subject => ({
  source,
  kind: 'HTTPRoute',
  namespace: meta.namespace,
  name: meta.name,
})

/** One URL through two Gateways, for two servers: the route that comes first in the order of the API has it. */
const settleUrls = (walks: readonly RouteWalk[]): readonly RouteWalk[] => {
  const holders = new Map<string, RouteEndpoint>()
  for (const { endpoints } of [...walks].sort((a, b) => routeOrder(a.route, b.route))) {
    for (const endpoint of endpoints) if (!holders.has(endpoint.url)) holders.set(endpoint.url, endpoint)
  }
  return walks.map((walk) => {
    const isTaken = ({ url, resource }: RouteEndpoint): boolean => holders.get(url)?.resource !== resource
    const lost = walk.endpoints.filter(isTaken)
    if (lost.length === 0) return walk
    const stops = lost.map(({ url }) =>
      obstacle('match', 'ShadowedByRoute', url, url, `HTTPRoute ${holders.get(url)?.route}`),
    )
    return {
      ...walk,
      endpoints: walk.endpoints.filter((endpoint) => !isTaken(endpoint)),
      obstacles: [...walk.obstacles, ...stops],
    }
  })
}

/** What a reader of the registry should know of the URLs that a route gives. */
const remarksOn = ({ endpoints }: RouteWalk, landscape: Landscape): readonly FindingDetail[] =>
  withoutOutshone(endpoints, (endpoint) => endpoint).flatMap(
    ({ url, scheme, host, hostSource, gateway, listenerPort }): readonly FindingDetail[] => {
      const certificates = landscape.gateways.get(gateway)?.clientCertificates
      const isClosed =
        scheme === 'https' && (certificates?.ports.get(listenerPort) ?? certificates?.everywhere ?? false)
      return [
        ...(scheme === 'http' ? [{ code: 'InsecureScheme', url } as const] : []),
        ...(scheme === 'https' && hostSource === 'address' ? [warning('TlsOnAddressHost', url)] : []),
        ...(rangeOfHost(host) === 'private' ? [{ code: 'PrivateAddress', url } as const] : []),
        ...(isClosed ? [warning('ClientCertificateRequired', `Gateway ${gateway}`)] : []),
      ]
    },
  )

/** A code about a route keeps it out only where nothing else let it in. */
const findingsOf = (walk: RouteWalk, subject: Subject, landscape: Landscape): readonly Finding[] => {
  const hasUrl = walk.endpoints.length > 0
  const decisive = hasUrl ? undefined : decisiveOf(walk.obstacles, walk.hosts.length > 0)
  const toFinding = (stop: Obstacle): Finding => {
    const finding = findingOf(subject, stop.finding, hasUrl ? 'none' : 'skipped', stop.class)
    return stop === decisive ? { ...finding, decisive: true } : finding
  }
  const remarks = [...walk.warnings, ...remarksOn(walk, landscape)].map((detail) =>
    findingOf(subject, detail, 'none', 'info'),
  )
  // Two listeners may say the same about a hostname.
  const said = new Map(walk.obstacles.toReversed().map((stop) => [canonicalJson(stop.finding), stop]))
  return [...[...said.values()].map(toFinding), ...remarks]
}

/** Follows every exported route of a snapshot to its URLs and the resources behind them. */
export const discoverRoutes = (snapshot: Snapshot, options: DiscoveryOptions): RouteDiscovery => {
  const landscape = surveyOf(snapshot, options)
  const siblings = indexSiblings(landscape)
  const attached = snapshot.routes.filter(({ meta }) => !meta.terminating).map((route) => attach(route, landscape))
  const competition = holdCompetition(attached.map(({ route, found }) => ({ route, attachments: found })))
  const findings: Finding[] = []
  const exported = new Set<HttpRoute>()
  for (const route of snapshot.routes) {
    const { isExported, findings: details } = readExport(route.meta.annotations)
    const terminating: readonly FindingDetail[] =
      isExported && route.meta.terminating ? [warning('RouteTerminating', 'metadata.deletionTimestamp')] : []
    findings.push(
      ...[...details, ...terminating].map((detail) => findingOf(routeSubject(snapshot.source, route), detail)),
    )
    if (isExported) exported.add(route)
  }
  const walks = settleUrls(
    attached
      .filter(({ route }) => exported.has(route))
      .map((each) => walkRoute(each, siblings, competition, landscape)),
  )
  return {
    walks,
    findings: [
      ...findings,
      ...walks.flatMap((walk) => findingsOf(walk, routeSubject(snapshot.source, walk.route), landscape)),
    ],
  }
}
