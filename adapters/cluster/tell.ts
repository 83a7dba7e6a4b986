import { hostname } from 'node:os'
import type { ClusterEvent } from '../../core/ports.ts'
import type { KubeApi } from './kube-api.ts'

/** Longer messages are refused by the API server. */
const LONGEST = 1_000
/** An API server protects itself against floods of Events; so do we. */
const MOST = 200

const bodyOf = ({ key, object, reason, message }: ClusterEvent, at: string) => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: `waypost-${key}`, namespace: object.namespace },
  involvedObject: object,
  reason,
  message: message.length > LONGEST ? `${message.slice(0, LONGEST - 1)}…` : message,
  type: 'Warning',
  count: 1,
  firstTimestamp: at,
  lastTimestamp: at,
  source: { component: 'waypost' },
  reportingComponent: 'stacklok.dev/waypost',
  reportingInstance: hostname(),
})

/** Records Events. One that is there was recorded before. The first that is refused ends it, and is said. */
export const tell = async (api: KubeApi, events: readonly ClusterEvent[], now: Date): Promise<string | undefined> => {
  const at = now.toISOString().replace(/\.\d+Z$/, 'Z')
  for (const event of events.slice(0, MOST)) {
    const { namespace } = event.object
    const answer = await api.send(
      'POST',
      `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      bodyOf(event, at),
    )
    if (answer.kind === 'ok' || answer.kind === 'conflict' || answer.kind === 'absent') continue
    return answer.kind === 'denied'
      ? `it may not create events in namespace ${namespace}; add to a role: { apiGroups: [""], resources: ["events"], verbs: ["create"] }`
      : `an Event was refused: ${answer.message}`
  }
  return events.length > MOST ? `${events.length - MOST} of ${events.length} Events were left out` : undefined
}
