import type { FindingDetail } from '../model/finding.ts'
import { quote } from '../model/printable.ts'
import type { McpResource } from '../model/snapshot.ts'
import type { DiscoveryOptions } from './options.ts'

const OPT_OUTS = ['false', 'no', 'off', 'n', 'f', '0', '']

const meansNo = (value: unknown): boolean =>
  typeof value === 'string' ? OPT_OUTS.includes(value.trim().toLowerCase()) : value === false

export type OptIn = { readonly exported: boolean; readonly findings: readonly FindingDetail[] }

/** Does the resource ask to be listed? Exactly "true" does; what means no, wins over everything. */
export const readOptIn = ({ meta: { annotations } }: McpResource, options: DiscoveryOptions): OptIn => {
  const value = annotations.get('registry-export')
  if (value === 'true') return { exported: true, findings: [] }
  if (meansNo(value)) return { exported: false, findings: [{ code: 'NotExported' }] }

  const nearMiss: FindingDetail[] = value === undefined ? [] : [{ code: 'ExportValueInvalid', value: quote(value) }]
  if (!annotations.has('registry-url')) return { exported: false, findings: [{ code: 'NotExported' }, ...nearMiss] }
  if (!options.requireExportAnnotation) return { exported: true, findings: nearMiss }
  const lone: FindingDetail[] = value === undefined ? [{ code: 'ExportAnnotationMissing' }] : []
  return { exported: false, findings: [{ code: 'NotExported' }, ...nearMiss, ...lone] }
}
