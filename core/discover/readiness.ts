import type { FindingDetail } from '../model/finding.ts'
import { printable } from '../model/printable.ts'
import type { McpResource, ReadAs } from '../model/snapshot.ts'
import type { DiscoveryOptions } from './options.ts'

// Older operators say Running; an MCPServerEntry says Valid.
const READY = ['Ready', 'Running', 'Valid']

const validOf = ({ status }: McpResource): readonly FindingDetail[] => {
  if (status === undefined) return []
  if (status.phase !== undefined)
    return READY.includes(status.phase) ? [] : [{ code: 'EntryNotValid', phase: printable(status.phase) }]
  const failed = status.conditions.find(({ type, status }) => /Valid(ated)?$/.test(type) && status !== 'True')
  return failed === undefined ? [] : [{ code: 'EntryNotValid', condition: printable(failed.type) }]
}

/** Is the resource in a state to be listed? An entry must be valid; the others only where `requireReady` asks for it. */
export const readReadiness = (
  resource: McpResource,
  readAs: ReadAs,
  options: DiscoveryOptions,
): readonly FindingDetail[] => {
  const { kind, meta, status } = resource
  if (meta.terminating || status?.phase === 'Terminating') return [{ code: 'ResourceTerminating' }]
  // An entry must be valid, but may have no status: no pod belongs to it.
  const invalid = kind === 'MCPServerEntry' ? validOf(resource) : []
  if (invalid.length > 0 || !options.requireReady || READY.includes(status?.phase ?? '')) return invalid
  if (status === undefined && readAs === 'manifests') return [{ code: 'StatusAssumed' }]
  return [{ code: 'NotReady', ...(status?.phase !== undefined && { phase: printable(status.phase) }) }]
}
