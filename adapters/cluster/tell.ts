import { hostname } from 'node:os'
import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import type { ClusterEvent, Telling } from '../../core/ports.ts'
import type { KubeAnswer, KubeApi } from './kube-api.ts'

/** The API of today refuses longer ones, and nobody reads them. */
const LONGEST = 1_000
/** An API server protects itself against floods of Events; so do we. The rest is told the next time. */
const MOST = 200

const bodyOf = ({ key, object, reason, message }: ClusterEvent, at: string) => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: `waypost-${key}`, namespace: object.namespace },
  involvedObject: object,
  reason,
  message: printable(message, LONGEST),
  type: 'Warning',
  count: 1,
  firstTimestamp: at,
  lastTimestamp: at,
  source: { component: 'waypost' },
  reportingComponent: 'stacklok.dev/waypost',
  reportingInstance: hostname(),
})

/** Nobody is there to be told: the namespace is gone, or about to go, which an API server calls forbidden. */
const isNobodyThere = (answer: KubeAnswer): boolean =>
  answer.kind === 'absent' || (answer.kind === 'denied' && answer.message.includes('being terminated'))

/** Records Events, each for itself: one namespace where that is not allowed does not keep the others from hearing. */
export const tell = async (api: KubeApi, events: readonly ClusterEvent[], now: Date): Promise<Telling> => {
  const at = now.toISOString().replace(/\.\d+Z$/, 'Z')
  const told = new Set<string>()
  const denied = new Set<string>()
  const problems: string[] = []
  for (const event of events.slice(0, MOST)) {
    const { namespace } = event.object
    if (denied.has(namespace)) continue
    try {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`
      const answer = await api.send('POST', path, bodyOf(event, at))
      if (answer.kind === 'ok' || answer.kind === 'conflict' || isNobodyThere(answer)) told.add(event.key)
      else if (answer.kind === 'denied') denied.add(namespace)
      else problems.push(`an Event was refused: ${answer.message}`)
    } catch (error) {
      if (!(error instanceof OperationError)) throw error
      problems.push(error.message)
      break
    }
  }
  if (denied.size > 0)
    problems.push(
      `it may not create events; add to a role: { apiGroups: [""], resources: ["events"], verbs: ["create"] } in namespace ${[...denied].join(', ')}`,
    )
  if (events.length > MOST)
    problems.push(`${events.length - MOST} of ${events.length} Events are left for the next sync`)
  return { told, ...(problems.length > 0 && { problem: [...new Set(problems)].join('; ') }) }
}
