import { canonicalJson } from '../core/model/canonical-json.ts'
import { digestOf } from '../core/model/digest.ts'
import { type Finding, isQuiet } from '../core/model/finding.ts'
import { GATEWAY_GROUP } from '../core/model/gateway.ts'
import { OperationError } from '../core/model/operation-error.ts'
import { findingJson, renderFinding } from '../core/model/render-finding.ts'
import { subjectKey, TOOLHIVE_GROUP } from '../core/model/resource.ts'
import type { Snapshot } from '../core/model/snapshot.ts'
import type { BlobStore, ClusterEvent } from '../core/ports.ts'
import { registryKeys } from './publication/keys.ts'
import { absentIfDamaged, readJson } from './publication/objects.ts'
import { isReport, type Report } from './publication/report.ts'

type Told = { readonly source: string; readonly event: ClusterEvent }

const isTold = (finding: Finding): boolean =>
  !isQuiet(finding) && (finding.effect === 'skipped' || finding.effect === 'degraded')

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

/**
 * The Events that findings deserve: those that skip or degrade an exported object and that the report before did not
 * have. `at` is in their names, so that one which comes back after it was gone is told again.
 */
export const eventsOf = (
  findings: readonly Finding[],
  snapshots: readonly Snapshot[],
  before: readonly Pick<Report, 'findings' | 'untold'>[],
  at: string,
): readonly Told[] => {
  const reported = before.filter(({ untold }) => untold === undefined)
  const known = new Set(reported.flatMap((report) => report.findings.map((finding) => canonicalJson(finding))))
  const objects = objectsOf(snapshots)
  return findings.filter(isTold).flatMap((finding) => {
    const { code, subject } = finding
    const object = objects.get(subjectKey(subject))
    const json = canonicalJson(findingJson(finding))
    if (object === undefined || known.has(json)) return []
    const { message, fix } = renderFinding(finding)
    const key = digestOf(`${at} ${json}`).slice(0, 20)
    return [{ source: subject.source, event: { key, object, reason: code, message: `${message} ${fix}` } }]
  })
}

/** Tells the owners in a cluster; what could not be told is said. */
export type Tell = (source: string, events: readonly ClusterEvent[]) => Promise<string | undefined>

/** Tells owners what is new since the reports that the store has. It never fails a sync: what was published is published. */
export const tellOwners = async (
  tell: Tell,
  store: BlobStore,
  registries: readonly string[],
  findings: readonly Finding[],
  snapshots: readonly Snapshot[],
  at: string,
): Promise<string | undefined> => {
  const before: Report[] = []
  for (const name of registries) {
    const found = await readJson(store, registryKeys(name).report, isReport).catch(absentIfDamaged)
    if (found !== undefined) before.push(found.value)
  }
  const problems: string[] = []
  for (const [source, told] of Map.groupBy(eventsOf(findings, snapshots, before, at), (each) => each.source)) {
    try {
      const problem = await tell(
        source,
        told.map(({ event }) => event),
      )
      if (problem !== undefined) problems.push(`source ${source}: ${problem}`)
    } catch (error) {
      if (!(error instanceof OperationError)) throw error
      problems.push(`source ${source}: ${error.message}`)
    }
  }
  return problems.length === 0 ? undefined : problems.join('; ')
}
