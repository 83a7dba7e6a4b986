export const TOOLHIVE_GROUP = 'toolhive.stacklok.dev'

export const MCP_KINDS = ['MCPServer', 'MCPRemoteProxy', 'VirtualMCPServer', 'MCPServerEntry'] as const
export type McpKind = (typeof MCP_KINDS)[number]

/** What a Finding is about: a Kubernetes object, or a `File` or a `Source`, whose namespace is empty. */
export type Subject = {
  readonly source: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export const sourceSubject = (source: string): Subject => ({ source, kind: 'Source', namespace: '', name: source })

/** An MCP resource of one cluster: what owns an entry. */
export type ResourceRef = Subject & { readonly kind: McpKind }

/** Names may hold no NUL, so two different subjects never share a key. */
export const subjectKey = ({ source, kind, namespace, name }: Subject): string =>
  [source, kind, namespace, name].join('\u0000')
