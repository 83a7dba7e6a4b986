import type { FindingDetail } from '../model/finding.ts'
import { meansNo } from '../model/opt-out.ts'
import { quote } from '../model/printable.ts'
import { namesUrl } from './direct-remote.ts'
import type { DiscoveryOptions } from './options.ts'

type Annotations = ReadonlyMap<string, unknown>

export type OptIn = { readonly isExported: boolean; readonly findings: readonly FindingDetail[] }

/** Does an object ask to be listed? Exactly "true" does; something like it is a near miss, which its owner should know. */
export const readExport = (annotations: Annotations): OptIn => {
  const value = annotations.get('registry-export')
  if (value === 'true') return { isExported: true, findings: [] }
  const nearMiss: readonly FindingDetail[] =
    value === undefined || meansNo(value) ? [] : [{ code: 'ExportValueInvalid', value: quote(value) }]
  return { isExported: false, findings: [{ code: 'NotExported' }, ...nearMiss] }
}

/** Does a resource ask to be listed by itself, by a route that leads to it, or, where that is enough, by its URL? */
export const readOptIn = (annotations: Annotations, isRouted: boolean, options: DiscoveryOptions): OptIn => {
  const own = readExport(annotations)
  if (own.isExported || meansNo(annotations.get('registry-export'))) return own
  const hints = own.findings.filter(({ code }) => code !== 'NotExported')
  const hasUrl = namesUrl(annotations)
  if (isRouted || (hasUrl && !options.requireExportAnnotation)) return { isExported: true, findings: hints }
  const lone: readonly FindingDetail[] = hasUrl && hints.length === 0 ? [{ code: 'ExportAnnotationMissing' }] : []
  return { isExported: false, findings: [...own.findings, ...lone] }
}
