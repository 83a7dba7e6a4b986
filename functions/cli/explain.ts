import type { Compiled } from '../../core/compile/compile.ts'
import { namesUrl } from '../../core/discover/direct-remote.ts'
import type { RouteWalk } from '../../core/discover/route/walk.ts'
import type { Finding } from '../../core/model/finding.ts'
import { MCP_KINDS, type McpKind, type Subject, subjectKey } from '../../core/model/resource.ts'
import type { McpResource } from '../../core/model/snapshot.ts'
import type { Compilation } from '../compile.ts'
import { nearest } from '../nearest.ts'
import { urlsOf, walkLines } from './explain-route.ts'
import { byWeight, findingLines, subjectName } from './render-compilation.ts'
import { UsageError } from './world.ts'

const KINDS = [...MCP_KINDS, 'HTTPRoute'] as const
type Target = { readonly kind: McpKind | 'HTTPRoute'; readonly namespace: string; readonly name: string }

/** The plurals and short names that kubectl takes, too. */
const ALIASES: Readonly<Record<string, Target['kind']>> = {
  mcpservers: 'MCPServer',
  mcpremoteproxies: 'MCPRemoteProxy',
  rp: 'MCPRemoteProxy',
  mcprp: 'MCPRemoteProxy',
  virtualmcpservers: 'VirtualMCPServer',
  vmcp: 'VirtualMCPServer',
  mcpserverentries: 'MCPServerEntry',
  mcpentry: 'MCPServerEntry',
  httproutes: 'HTTPRoute',
}

export const parseTarget = (text: string): Target => {
  const [typedKind = '', namespace = '', name = '', ...rest] = text.split('/')
  if (namespace === '' || name === '' || rest.length > 0)
    throw new UsageError(`${text} is not KIND/NAMESPACE/NAME, such as MCPServer/production/github.`)
  const kind = KINDS.find((each) => each.toLowerCase() === typedKind.toLowerCase()) ?? ALIASES[typedKind.toLowerCase()]
  if (kind === undefined)
    throw new UsageError(`${typedKind} is no kind that can be explained. There are ${KINDS.join(', ')}.`)
  return { kind, namespace, name }
}

/** What opted a resource in, and where its endpoint comes from. */
const whyListed = (resource: McpResource, { walks }: Compilation): string => {
  const { annotations } = resource.meta
  const named = (isIt: (walk: RouteWalk) => boolean): string =>
    walks
      .filter(({ walk }) => isIt(walk))
      .map(({ walk }) => `HTTPRoute/${walk.route.meta.namespace}/${walk.route.meta.name}`)
      .join(', ')
  const asking = named(({ targets }) => targets.some(({ backend }) => backend.resource === resource))
  const giving = named(({ endpoints }) => endpoints.some((endpoint) => endpoint.resource === resource))
  const optIn =
    annotations.get('registry-export') === 'true'
      ? 'registry-export: "true"'
      : asking || 'its registry-url, as discovery.requireExportAnnotation is false'
  const endpoint = namesUrl(annotations) ? 'the annotation registry-url' : giving || 'spec.remoteUrl'
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

const explainResource = (
  subject: Subject,
  resource: McpResource | undefined,
  compilation: Compilation,
): readonly string[] => {
  const places = placesOf(compilation.registries, subject)
  if (places.length === 0) return ['is not listed']
  return ['is listed', ...places, ...(resource === undefined ? [] : [whyListed(resource, compilation)])]
}

const explainRoute = (subject: Subject, { walks }: Compilation): readonly string[] => {
  const walk = walks.find(
    (each) =>
      each.source === subject.source &&
      each.walk.route.meta.namespace === subject.namespace &&
      each.walk.route.meta.name === subject.name,
  )?.walk
  if (walk === undefined) return ['gives no URL']
  const count = urlsOf(walk).length
  return [count === 0 ? 'gives no URL' : `gives ${count} URL${count === 1 ? '' : 's'}`, ...walkLines(walk)]
}

const explainIn = (target: Target, source: string, compilation: Compilation): readonly string[] => {
  const subject: Subject = { source, ...target }
  const snapshot = compilation.snapshots.find((each) => each.source === source)
  const isTarget = ({
    kind,
    meta,
  }: {
    readonly kind: string
    readonly meta: { readonly namespace: string; readonly name: string }
  }): boolean => kind === target.kind && meta.namespace === target.namespace && meta.name === target.name
  const resource = snapshot?.resources.find(isTarget)
  const about = compilation.findings.filter((finding) => subjectKey(finding.subject) === subjectKey(subject))
  if (resource === undefined && snapshot?.routes.find(isTarget) === undefined && about.length === 0) return []
  const verdict =
    target.kind === 'HTTPRoute' ? explainRoute(subject, compilation) : explainResource(subject, resource, compilation)
  return [
    `${subjectName(subject)} (source ${source}) ${verdict.join('\n')}`,
    ...byWeight(about).flatMap((finding) => findingLines(finding)),
  ]
}

const nearby = (target: Target, { snapshots, findings }: Compilation): readonly string[] => {
  const all = [
    ...snapshots.flatMap(({ resources, routes }) =>
      [...resources, ...routes].map(({ kind, meta }) => ({ kind, namespace: meta.namespace, name: meta.name })),
    ),
    ...findings.map(({ subject }) => subject).filter(({ kind }) => KINDS.some((each) => each === kind)),
  ]
  const names = new Map(all.map((each) => [subjectName({ source: '', ...each }), each.name]))
  const sameName = [...names].filter(([, name]) => name === target.name).map(([full]) => full)
  return [...new Set([...sameName, ...nearest(subjectName({ source: '', ...target }), [...names.keys()], 5)])].slice(
    0,
    5,
  )
}

/** What could not be read may be what is looked for. */
const isUnread = ({ code }: Finding): boolean => code === 'DocumentUnreadable' || code === 'NothingToRead'

export type Explanation = { readonly kind: 'explained' | 'missing'; readonly text: string }

/** Where a resource is listed and why, how a route leads to its URLs, or every obstacle and how to remove it. */
export const explain = (target: Target, compilation: Compilation): Explanation => {
  const lines = compilation.snapshots.flatMap(({ source }) => explainIn(target, source, compilation))
  if (lines.length > 0) return { kind: 'explained', text: lines.join('\n') }
  const near = nearby(target, compilation)
  const hint = near.length === 0 ? 'There is nothing with a similar name.' : `Nearby: ${near.join(', ')}.`
  const unread = compilation.findings.filter(isUnread).flatMap((finding) => findingLines(finding))
  return {
    kind: 'missing',
    text: [`There is no ${subjectName({ source: '', ...target })} in what was read. ${hint}`, ...unread].join('\n'),
  }
}
