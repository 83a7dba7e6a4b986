import type { Cluster } from '../../core/ports.ts'
import { check } from './check.ts'
import { createKubeApi, type KubeLimits, LIMITS } from './kube-api.ts'
import type { Connection } from './kube-fetch.ts'
import { lead } from './lease.ts'
import { readCluster } from './read-cluster.ts'
import { tell } from './tell.ts'
import { RECHECK_MS, watchCluster } from './watch-cluster.ts'

/** A snapshot that takes longer is of too many moments. */
const SNAPSHOT_MS = 5 * 60_000

/** A cluster behind a connection. */
export const openCluster = (connection: Connection, limits: KubeLimits = LIMITS, recheckMs = RECHECK_MS): Cluster => {
  const { server, context } = connection
  const api = (...signals: readonly AbortSignal[]) =>
    createKubeApi(connection, AbortSignal.any([AbortSignal.timeout(SNAPSHOT_MS), ...signals]), limits)
  return {
    server,
    context,
    read: (question, signal) => readCluster(signal === undefined ? api() : api(signal), question),
    watch: (question, signal, onChange, onProblem) =>
      watchCluster(connection, question, signal, onChange, onProblem, recheckMs),
    lead: (options, onChange, onProblem) => lead(connection, options, onChange, onProblem),
    tell: (events) => tell(api(), events, new Date()),
    check: (question, others) => check(api(), question, others),
  }
}
