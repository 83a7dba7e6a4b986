import type { Reader, RegistryHealth } from '../publication/reader.ts'

const SEVERITY: readonly RegistryHealth['status'][] = ['fresh', 'stale', 'store-away', 'corrupt', 'nothing']

/** 200 whenever something can be served: that it is old is for alarms, never for taking the endpoint down. */
export const renderHealth = ({
  registries,
  problem,
}: Awaited<ReturnType<Reader['health']>>): { readonly status: 200 | 503; readonly body: string } => {
  const canServe = registries.some(({ status }) => status !== 'nothing')
  const worst = registries.reduce((found, { status }) => Math.max(found, SEVERITY.indexOf(status)), 0)
  const status = registries.length === 0 ? (problem?.status ?? 'nothing') : SEVERITY[worst]
  const detail = registries.length === 0 ? { detail: problem?.detail ?? 'Nothing has been published yet.' } : {}
  return { status: canServe ? 200 : 503, body: JSON.stringify({ status, ...detail, registries }) }
}
