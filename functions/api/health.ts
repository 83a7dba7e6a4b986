import type { Health } from '../publication/reader.ts'
import type { RegistryHealth } from '../publication/registry-health.ts'

/** The worse, the further right. That one registry was never published says nothing of the others. */
const SEVERITY: readonly RegistryHealth['status'][] = ['nothing', 'fresh', 'stale', 'store-away', 'corrupt']

/** 200 whenever something can be served: that it is old is for alarms, never for taking the endpoint down. */
export const renderHealth = ({
  registries,
  problem,
}: Health): { readonly status: 200 | 503; readonly body: string } => {
  const worst = registries.reduce((found, { status }) => Math.max(found, SEVERITY.indexOf(status)), 0)
  const canServe = registries.some(({ served }) => served)
  const said = registries.find(({ status }) => status === SEVERITY[worst])?.detail
  const { status, detail } = problem ?? { status: SEVERITY[worst], detail: said ?? 'Nothing has been published yet.' }
  return canServe
    ? { status: 200, body: JSON.stringify({ status: SEVERITY[worst], registries }) }
    : { status: 503, body: JSON.stringify({ status, detail, registries }) }
}
