import { TRANSPORTS, type Transport } from '../model/entry.ts'
import type { FindingDetail } from '../model/finding.ts'
import { quote } from '../model/printable.ts'
import type { McpKind } from '../model/resource.ts'
import type { McpResource } from '../model/snapshot.ts'

type Choice = { readonly field: string; readonly value: string | undefined }

/** Which field says how clients talk to a resource, with the defaults of its CRD. */
const choiceOf: Record<McpKind, (resource: McpResource) => Choice> = {
  MCPServer: ({ transport = 'stdio', proxyMode = 'streamable-http' }) =>
    transport === 'stdio'
      ? { field: 'spec.proxyMode', value: proxyMode }
      : { field: 'spec.transport', value: transport },
  MCPRemoteProxy: ({ transport = 'streamable-http' }) => ({ field: 'spec.transport', value: transport }),
  VirtualMCPServer: () => ({ field: 'spec.transport', value: 'streamable-http' }),
  MCPServerEntry: ({ transport }) => ({ field: 'spec.transport', value: transport }),
}

export type ReadTransport =
  | { readonly kind: 'transport'; readonly transport: Transport }
  | { readonly kind: 'bad'; readonly finding: FindingDetail }

export const readTransport = (resource: McpResource): ReadTransport => {
  const { field, value } = choiceOf[resource.kind](resource)
  const transport = TRANSPORTS.find((each) => each === value)
  if (transport !== undefined) return { kind: 'transport', transport }
  return {
    kind: 'bad',
    finding: { code: 'TransportInvalid', field, ...(value !== undefined && { value: quote(value) }) },
  }
}
