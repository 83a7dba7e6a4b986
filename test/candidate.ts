import type { Candidate } from '../core/model/candidate.ts'
import type { McpKind } from '../core/model/resource.ts'

export const T0 = Date.parse('2026-01-01T00:00:00Z')

/** A candidate as discovery would give it, of kind MCPServer in cluster `cluster` unless said otherwise. */
export const candidateOf = (name: string, more: Partial<Candidate> & { kind?: McpKind } = {}): Candidate => {
  const { kind = 'MCPServer', ...fields } = more
  return {
    ref: { source: 'cluster', kind, namespace: 'team', name },
    createdAt: T0,
    uid: undefined,
    image: undefined,
    wantedName: `dev.stacklok.toolhive/team.${name}`,
    title: undefined,
    description: `Server ${name}`,
    version: '1.0.0',
    icon: undefined,
    remotes: [{ type: 'streamable-http', url: `https://mcp.example.com/${kind}/${name}` }],
    pending: [],
    tier: undefined,
    tags: undefined,
    tools: undefined,
    toolDefinitions: undefined,
    group: undefined,
    claims: undefined,
    ...fields,
  }
}
