import type { Compiled } from '../../core/compile/compile.ts'
import type { Finding } from '../../core/model/finding.ts'
import { MCP_KINDS, type McpKind, type Subject, subjectKey } from '../../core/model/resource.ts'
import type { McpResource } from '../../core/model/snapshot.ts'
import type { Compilation } from '../compile.ts'
import { nearest } from '../nearest.ts'
import { byWeight, findingLines, subjectName } from './render-compilation.ts'
import { UsageError } from './world.ts'

type Target = { readonly kind: McpKind; readonly namespace: string; readonly name: string }

/** The plurals and short names that kubectl takes, too. */
const ALIASES: Readonly<Record<string, McpKind>> = {
  mcpservers: 'MCPServer',
  mcpremoteproxies: 'MCPRemoteProxy',
  rp: 'MCPRemoteProxy',
  mcprp: 'MCPRemoteProxy',
  virtualmcpservers: 'VirtualMCPServer',
  vmcp: 'VirtualMCPServer',
  mcpserverentries: 'MCPServerEntry',
  mcpentry: 'MCPServerEntry',
}

export const parseTarget = (text: string): Target => {
  const [typedKind = '', namespace = '', name = '', ...rest] = text.split('/')
  if (namespace === '' || name === '' || rest.length > 0)
    throw new UsageError(`${text} is not KIND/NAMESPACE/NAME, such as MCPServer/production/github.`)
  const kind =
    MCP_KINDS.find((each) => each.toLowerCase() === typedKind.toLowerCase()) ?? ALIASES[typedKind.toLowerCase()]
  if (kind === undefined)
    throw new UsageError(`${typedKind} is no kind that can be listed. There are ${MCP_KINDS.join(', ')}.`)
  return { kind, namespace, name }
}

const whyListed = ({ kind, meta }: McpResource): string => {
  const optIn =
    meta.annotations.get('registry-export') === 'true'
      ? 'registry-export: "true"'
      : 'its registry-url, as discovery.requireExportAnnotation is false'
  const endpoint =
    kind === 'MCPServerEntry' && !meta.annotations.has('registry-url')
      ? 'spec.remoteUrl'
      : 'the annotation registry-url'
  return `  Opted in by ${optIn}; the endpoint is from ${endpoint}.`
}

const placesOf = (registries: readonly Compiled[], subject: Subject): readonly string[] =>
  registries.flatMap(({ state, document }) => {
    const own = state.entries.filter(
      ({ status, owner }) => status === 'active' && subjectKey(owner) === subjectKey(subject),
    )
    return document.entries
      .filter((entry) => own.some(({ name, version }) => entry.name === name && entry.version === version))
      .flatMap(({ name, version, server }) => [
        `  in ${document.registry} as ${name}, version ${version}`,
        ...(server.remotes ?? []).map(({ url }) => `    ${url}`),
      ])
  })

const explainIn = (
  subject: Subject,
  resource: McpResource | undefined,
  { registries, findings }: Compilation,
): readonly string[] => {
  const places = placesOf(registries, subject)
  // What keeps a whole source out keeps this out too.
  const ofSource = (finding: Finding): boolean =>
    finding.subject.kind === 'Source' && finding.subject.source === subject.source
  const about = byWeight(
    findings.filter(
      (finding) => subjectKey(finding.subject) === subjectKey(subject) || (places.length === 0 && ofSource(finding)),
    ),
  )
  const verdict =
    places.length > 0
      ? ['is listed', ...places, ...(resource === undefined ? [] : [whyListed(resource)])]
      : ['is not listed']
  return [
    `${subjectName(subject)} (source ${subject.source}) ${verdict.join('\n')}`,
    ...about.flatMap((finding) => findingLines(finding)),
  ]
}

const nearby = (target: Target, { snapshots, findings }: Compilation): readonly string[] => {
  const all = [
    ...snapshots.flatMap(({ resources }) =>
      resources.map(({ kind, meta }) => ({ kind, namespace: meta.namespace, name: meta.name })),
    ),
    ...findings.map(({ subject }) => subject).filter(({ kind }) => MCP_KINDS.some((each) => each === kind)),
  ]
  const names = new Map(all.map((each) => [subjectName({ source: '', ...each }), each.name]))
  const sameName = [...names].filter(([, name]) => name === target.name).map(([full]) => full)
  return [...new Set([...sameName, ...nearest(subjectName({ source: '', ...target }), [...names.keys()], 5)])].slice(
    0,
    5,
  )
}

export type Explanation = { readonly kind: 'explained' | 'missing'; readonly text: string }

/** Where a resource is listed and why, or every obstacle and how to remove it. */
export const explain = (target: Target, compilation: Compilation): Explanation => {
  const lines = compilation.snapshots.flatMap((snapshot) => {
    const subject: Subject = { source: snapshot.source, ...target }
    const resource = snapshot.resources.find(
      ({ kind, meta }) => kind === target.kind && meta.namespace === target.namespace && meta.name === target.name,
    )
    const isKnown =
      resource !== undefined ||
      compilation.findings.some((finding) => subjectKey(finding.subject) === subjectKey(subject))
    return isKnown ? explainIn(subject, resource, compilation) : []
  })
  if (lines.length > 0) return { kind: 'explained', text: lines.join('\n') }
  const near = nearby(target, compilation)
  const hint = near.length === 0 ? 'There is no MCP resource with a similar name.' : `Nearby: ${near.join(', ')}.`
  return { kind: 'missing', text: `There is no ${subjectName({ source: '', ...target })} in what was read. ${hint}` }
}
