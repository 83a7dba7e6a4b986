import type { Candidate, CandidateRemote } from '../model/candidate.ts'
import { canonicalJson } from '../model/canonical-json.ts'
import { PUBLISHER_PROVIDED, SERVER_SCHEMA, type Server } from '../model/entry.ts'
import { type Finding, findingOf } from '../model/finding.ts'
import { bareRemote } from './select-remotes.ts'

/** As much as one resource may put into everyone's registry: a page of 100 stays below the 6 MB that a Lambda can answer. */
const MAX_ENTRY = 60_000

export type KubernetesMetadata = 'minimal' | 'full'
export type Composed = { readonly server: Server; readonly json: string; readonly findings: readonly Finding[] }

/** A character has at most three bytes, so most texts need not be measured. */
const bytesOf = (text: string): number =>
  text.length * 3 <= MAX_ENTRY ? text.length : new TextEncoder().encode(text).length

const kubernetesOf = (
  { ref, uid, image }: Candidate,
  detail: KubernetesMetadata,
): Readonly<Record<string, string | undefined>> => ({
  kind: ref.kind,
  namespace: ref.namespace,
  // ToolHive's schema knows no dot in a name, and its clients refuse the whole registry for one.
  name: ref.name.includes('.') ? undefined : ref.name,
  ...(detail === 'full' && { uid, image }),
})

const compose = (
  candidate: Candidate,
  remotes: readonly CandidateRemote[],
  name: string,
  detail: KubernetesMetadata,
): Server => {
  const { title, description, version, icon, tier, tags, tools, toolDefinitions, group } = candidate
  const extension = {
    status: 'active',
    tier,
    tags,
    tools,
    tool_definitions: toolDefinitions,
    // That schema is closed, and this is the place that it leaves open.
    custom_metadata: group === undefined ? undefined : { group },
    metadata: { kubernetes: kubernetesOf(candidate, detail) },
  }
  return {
    $schema: SERVER_SCHEMA,
    name,
    ...(title !== undefined && { title }),
    description,
    version,
    ...(icon !== undefined && { icons: [{ src: icon }] }),
    remotes: remotes.map(bareRemote),
    _meta: {
      [PUBLISHER_PROVIDED]: { 'io.github.stacklok': Object.fromEntries(remotes.map(({ url }) => [url, extension])) },
    },
  }
}

type Parts = { readonly candidate: Candidate; readonly remotes: readonly CandidateRemote[] }

/** What an entry can do without, the bulkiest first; the remotes that clients would take last go last of all. */
const SPARE: readonly {
  readonly name: string
  readonly isSpare: (parts: Parts) => boolean
  readonly without: (parts: Parts) => Parts
}[] = [
  {
    name: 'tool-definitions',
    isSpare: ({ candidate }) => candidate.toolDefinitions !== undefined,
    without: ({ candidate, remotes }) => ({ candidate: { ...candidate, toolDefinitions: undefined }, remotes }),
  },
  {
    name: 'tools',
    isSpare: ({ candidate }) => candidate.tools !== undefined,
    without: ({ candidate, remotes }) => ({ candidate: { ...candidate, tools: undefined }, remotes }),
  },
  {
    name: 'remotes',
    isSpare: ({ remotes }) => remotes.length > 1,
    without: ({ candidate, remotes }) => ({ candidate, remotes: remotes.slice(0, Math.ceil(remotes.length / 2)) }),
  },
]

/** The server.json of a candidate. One that is too large loses what it can spare before it could crowd out others. */
export const composeServer = (
  candidate: Candidate,
  remotes: readonly CandidateRemote[],
  name: string,
  detail: KubernetesMetadata,
): Composed => {
  let parts: Parts = { candidate, remotes }
  let server = compose(candidate, remotes, name, detail)
  let json = canonicalJson(server)
  const bytes = bytesOf(json)
  const dropped: string[] = []
  for (const { name: part, isSpare, without } of SPARE) {
    while (bytesOf(json) > MAX_ENTRY && isSpare(parts)) {
      parts = without(parts)
      if (!dropped.includes(part)) dropped.push(part)
      server = compose(parts.candidate, parts.remotes, name, detail)
      json = canonicalJson(server)
    }
  }
  const fits = bytesOf(json) <= MAX_ENTRY
  if (fits && dropped.length === 0) return { server, json, findings: [] }
  const finding = findingOf(candidate.ref, { code: 'EntryTooLarge', bytes, dropped }, fits ? 'degraded' : 'skipped')
  return { server, json, findings: [finding] }
}
