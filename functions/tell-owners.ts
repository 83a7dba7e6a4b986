import { canonicalJson } from '../core/model/canonical-json.ts'
import { digestOf } from '../core/model/digest.ts'
import { type Finding, isQuiet } from '../core/model/finding.ts'
import { GATEWAY_GROUP } from '../core/model/gateway.ts'
import { OperationError } from '../core/model/operation-error.ts'
import { findingJson, renderFinding } from '../core/model/render-finding.ts'
import { subjectKey, TOOLHIVE_GROUP } from '../core/model/resource.ts'
import type { Snapshot } from '../core/model/snapshot.ts'
import type { BlobStore, ClusterEvent, Telling } from '../core/ports.ts'
import { registryKeys } from './publication/keys.ts'
import { absentIfDamaged, readJson } from './publication/objects.ts'
import { isReport, type Report } from './publication/report.ts'

/** Tells the owners in a cluster. */
export type Tell = (source: string, events: readonly ClusterEvent[]) => Promise<Telling>

/** Who was told of which finding, by the uid of the object; and why not everybody who should have been. */
export type ToldOwners = { readonly told: ReadonlyMap<Finding, string>; readonly problem?: string }

type Planned = { readonly finding: Finding; readonly event: ClusterEvent }

const deservesEvent = (finding: Finding): boolean =>
  !isQuiet(finding) && (finding.effect === 'skipped' || finding.effect === 'degraded')

/** By which a finding is known again in a report, also where another has become the more urgent one. */
const keyOf = ({ decisive: _, told: __, ...finding }: Readonly<Record<string, unknown>>): string =>
  canonicalJson(finding)

/** Who in a snapshot can be told: an Event hangs on the uid of an object. */
const objectsOf = (snapshots: readonly Snapshot[]): ReadonlyMap<string, ClusterEvent['object']> => {
  const objects = new Map<string, ClusterEvent['object']>()
  for (const { source, resources, routes } of snapshots)
    for (const { kind, meta } of [...resources, ...routes]) {
      const { namespace, name, uid } = meta
      const apiVersion = kind === 'HTTPRoute' ? `${GATEWAY_GROUP}/v1` : `${TOOLHIVE_GROUP}/v1beta1`
      if (uid !== undefined)
        objects.set(subjectKey({ source, kind, namespace, name }), { apiVersion, kind, namespace, name, uid })
    }
  return objects
}

/** Who was told before, as the reports that are in the store have it. */
const toldIn = (reports: readonly Pick<Report, 'findings'>[]): ReadonlyMap<string, string> =>
  new Map(
    reports.flatMap(({ findings }) =>
      findings.flatMap((finding) =>
        typeof finding.told === 'string' ? [[keyOf(finding), finding.told] as const] : [],
      ),
    ),
  )

/**
 * The Events that findings deserve: those that skip or degrade an exported object whose owner was not told before.
 * `at` is in their names, so that one which comes back after it was gone is told again.
 */
export const planEvents = (
  findings: readonly Finding[],
  snapshots: readonly Snapshot[],
  before: readonly Pick<Report, 'findings'>[],
  at: string,
): { readonly known: ReadonlyMap<Finding, string>; readonly planned: readonly Planned[] } => {
  const toldBefore = toldIn(before)
  const objects = objectsOf(snapshots)
  const known = new Map<Finding, string>()
  const planned: Planned[] = []
  for (const finding of findings.filter(deservesEvent)) {
    const json = keyOf(findingJson(finding))
    const uid = toldBefore.get(json)
    const object = objects.get(subjectKey(finding.subject))
    // Of an object that was not read now, the source gives what it last gave.
    if (uid !== undefined && (object === undefined || object.uid === uid)) known.set(finding, uid)
    else if (object !== undefined) {
      const { message, fix } = renderFinding(finding)
      const key = digestOf(`${at} ${object.uid} ${json}`).slice(0, 20)
      planned.push({ finding, event: { key, object, reason: finding.code, message: `${message} ${fix}` } })
    }
  }
  return { known, planned }
}

const tellSource = async (tell: Tell, source: string, events: readonly ClusterEvent[]): Promise<Telling> => {
  try {
    return await tell(source, events)
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    return { told: new Set(), problem: error.message }
  }
}

/** Tells owners what is new to them. It never fails a sync: what was published is published. */
export const tellOwners = async (
  tell: Tell,
  store: BlobStore,
  registries: readonly string[],
  findings: readonly Finding[],
  snapshots: readonly Snapshot[],
  at: string,
): Promise<ToldOwners> => {
  const before: Report[] = []
  for (const name of registries) {
    const found = await readJson(store, registryKeys(name).report, isReport).catch(absentIfDamaged)
    if (found !== undefined) before.push(found.value)
  }
  const { known, planned } = planEvents(findings, snapshots, before, at)
  const told = new Map(known)
  const problems: string[] = []
  for (const [source, own] of Map.groupBy(planned, ({ finding }) => finding.subject.source)) {
    const answer = await tellSource(
      tell,
      source,
      own.map(({ event }) => event),
    )
    for (const { finding, event } of own) if (answer.told.has(event.key)) told.set(finding, event.object.uid)
    if (answer.problem !== undefined) problems.push(`source ${source}: ${answer.problem}`)
  }
  return { told, ...(problems.length > 0 && { problem: problems.join('; ') }) }
}
