import { assembleSnapshot } from '../../core/model/assemble-snapshot.ts'
import type { Finding } from '../../core/model/finding.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { subjectKey, TOOLHIVE_GROUP } from '../../core/model/resource.ts'
import type { Denial, ObjectKind, SnapshotObject, SnapshotReading, Unlisted } from '../../core/model/snapshot.ts'
import type { ClusterQuestion } from '../../core/ports.ts'
import { clusterError } from './cluster-failure.ts'
import { discoverKinds, type ServedKind } from './discover-kinds.ts'
import { createHolding, type Holding } from './holding.ts'
import { type KindToRead, stagesOf } from './kinds.ts'
import type { KubeApi } from './kube-api.ts'
import { listKind, pathOf } from './list-kind.ts'
import { grantNamespaces, type Place, referencesTo } from './references.ts'

/** What was learned on the way; holdings keep the order in which they were filled. */
export type Learned = {
  readonly holdings: Holding[]
  readonly unlisted: Map<ObjectKind, Unlisted>
  readonly denials: Denial[]
}

const objectsIn = ({ holdings }: Learned): readonly SnapshotObject[] => holdings.flatMap((holding) => holding.objects())

/** Who owns a Service that only a route led to is outside the namespaces: it was not read, so it is not missing. */
const ownersElsewhere = ({ source, scope }: ClusterQuestion, objects: readonly SnapshotObject[]): readonly string[] =>
  objects.flatMap((object) => {
    if (object.kind !== 'Service' || scope.namespaces.length === 0) return []
    const { namespace } = object.meta
    if (scope.namespaces.includes(namespace)) return []
    return object.owners
      .filter(({ apiVersion }) => apiVersion.startsWith(`${TOOLHIVE_GROUP}/`))
      .map(({ kind, name }) => subjectKey({ source, kind, namespace, name }))
  })

/** What was learned as a snapshot. */
export const toReading = (question: ClusterQuestion, learned: Learned): SnapshotReading => {
  const { source, scope } = question
  const objects = objectsIn(learned)
  const findings: readonly Finding[] = learned.holdings.flatMap((holding) => holding.findings())
  const unreadable = new Set([
    ...findings.map(({ subject }) => subjectKey(subject)),
    ...ownersElsewhere(question, objects),
  ])
  const { unlisted, denials } = learned
  return {
    snapshot: assembleSnapshot({ source, readAs: 'cluster', scope, unlisted, denials, unreadable }, objects),
    findings,
  }
}

export const deny = (learned: Learned, served: ServedKind, verb: Denial['verb'], namespace: string): void => {
  const { kind, group, resource } = served
  learned.unlisted.set(kind, 'denied')
  learned.denials.push({ kind, verb, group, resource, namespace })
}

/** The namespaces in which a kind is listed: one list of all of them where the source takes all. */
const namespacesOf = (served: ServedKind, { scope }: ClusterQuestion, learned: Learned): readonly string[] => {
  if (scope.namespaces.length === 0) return ['']
  if (!served.isNamespaced) return []
  const grants = served.kind === 'ReferenceGrant' ? grantNamespaces(objectsIn(learned), scope.namespaces) : []
  return [...scope.namespaces, ...grants]
}

/** What is asked for by name: where only some namespaces are listed, what is outside of them or in none. */
const placesOf = (served: ServedKind, { scope }: ClusterQuestion, learned: Learned): readonly Place[] => {
  const { namespaces } = scope
  if (namespaces.length === 0) return []
  const own = served.kind === 'Namespace' ? namespaces.map((name) => ({ namespace: '', name })) : []
  return [...own, ...referencesTo(served.kind, objectsIn(learned), served.isNamespaced ? namespaces : [])]
}

const getOne = async (
  api: KubeApi,
  served: ServedKind,
  { namespace, name }: Place,
  learned: Learned,
  holding: Holding,
) => {
  const answer = await api.get(`${pathOf(served, namespace)}/${encodeURIComponent(name)}`)
  if (answer.kind === 'ok' && answer.value.kind === served.kind) holding.take(answer.value)
  else if (answer.kind === 'denied')
    deny(learned, served, 'get', namespace || (served.kind === 'Namespace' ? name : ''))
  else if (answer.kind !== 'absent')
    throw clusterError(api.server, {
      code: 'ClusterAnswerUnexpected',
      cause: `${served.resource} ${name} could not be read: ${answer.kind === 'ok' ? 'what came back is something else' : answer.message}`,
      fix: 'Try again',
    })
}

const readKind = async (
  api: KubeApi,
  served: ServedKind,
  question: ClusterQuestion,
  learned: Learned,
): Promise<void> => {
  const { source } = question
  const places = placesOf(served, question, learned)
  const holdings = await inParallel(namespacesOf(served, question, learned), async (namespace) => {
    const holding = createHolding(source, served)
    const listed = await listKind(api, served, namespace, holding.take, holding.clear)
    if (listed.kind === 'denied') deny(learned, served, 'list', namespace)
    return holding
  })
  const elsewhere = createHolding(source, served)
  await inParallel(places, (place) => getOne(api, served, place, learned, elsewhere))
  learned.holdings.push(...holdings, elsewhere)
}

/** What was listed while its kind was uninstalled is only what was left of it. */
const checkStillServed = async (api: KubeApi, served: ReadonlyMap<KindToRead, ServedKind>): Promise<void> => {
  const still = await discoverKinds(api, [...served.keys()])
  for (const kind of served.keys())
    if (!still.has(kind))
      throw clusterError(api.server, {
        code: 'ClusterChanged',
        cause: `${kind.kind} was uninstalled while it was read`,
        fix: 'Try again',
      })
}

/** All that a source asks for, whole, or it throws. A kind that may not be read is part of the answer. */
export const readCluster = async (api: KubeApi, question: ClusterQuestion): Promise<SnapshotReading> => {
  const stages = stagesOf(question.gatewayApi)
  const served = await discoverKinds(api, stages.flat())
  const learned: Learned = { holdings: [], unlisted: new Map(), denials: [] }
  for (const kinds of stages) {
    await inParallel(kinds, async (kind) => {
      const found = served.get(kind)
      if (found === undefined) learned.unlisted.set(kind.kind, 'notInstalled')
      else await readKind(api, found, question, learned)
    })
  }
  await checkStillServed(api, served)
  return { ...toReading(question, learned), cost: api.cost() }
}
