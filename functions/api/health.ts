import type { Health } from '../publication/reader.ts'
import type { RegistryHealth } from '../publication/registry-health.ts'

/** The worse, the further right. */
const SEVERITY: readonly RegistryHealth['status'][] = ['fresh', 'stale', 'store-away', 'corrupt']

/** 200 whenever something can be served: that it is old is for alarms, never for taking the endpoint down. */
export const renderHealth = ({
  registries,
  problem,
}: Health): { readonly status: 200 | 503; readonly body: string } => {
  const served = registries.filter(({ status }) => status !== 'nothing')
  if (served.length === 0) {
    const { status, detail } = problem ?? { status: 'nothing', detail: 'Nothing has been published yet.' }
    return { status: 503, body: JSON.stringify({ status, detail, registries }) }
  }
  const worst = served.reduce((found, { status }) => Math.max(found, SEVERITY.indexOf(status)), 0)
  return { status: 200, body: JSON.stringify({ status: SEVERITY[worst], registries }) }
}
