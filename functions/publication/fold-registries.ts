import { type Compiled, compile, type SourceInput } from '../../core/compile/compile.ts'
import { orderFindings } from '../../core/compile/report.ts'
import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import type { Finding } from '../../core/model/finding.ts'
import { type Pointer, timeOf } from '../../core/model/publication.ts'
import { timeAfter } from '../../core/publish/next-pointer.ts'
import { findUnused, inputsOf } from '../compile.ts'
import type { Config, RegistryConfig } from '../config/config.ts'
import type { SettledSource } from './last-good.ts'
import type { PublishedRegistry } from './publish-registry.ts'

/** What one registry has become, and what it was made from. */
export type Folded = {
  readonly registry: RegistryConfig
  readonly compiled: Compiled
  readonly input: string
  readonly sources: Pointer['sources']
  /** Approvals of sources that could not be asked yet whether they still need them. */
  readonly approvedLosses: readonly string[]
  /** Has any of its sources ever given a result? */
  readonly hasInput: boolean
}

/** What a registry is made from, without times: equal inputs give the registry that is there. */
const digestInput = (config: Config, registry: RegistryConfig, settled: readonly SettledSource[]): string => {
  const sources = config.sources.filter(({ name }) => registry.sources.includes(name))
  return digestOf(
    canonicalJson({
      registry,
      discovery: config.discovery,
      tombstones: config.publish.tombstones,
      kubernetesMetadata: config.publish.kubernetesMetadata,
      sources: sources.map((source) => [
        source,
        settled.find(({ name }) => name === source.name)?.result?.content ?? '',
      ]),
    }),
  )
}

const usesOf = (settled: readonly SettledSource[]): Pointer['sources'] =>
  Object.fromEntries(
    settled.flatMap(({ name, result, isFresh }) =>
      result === undefined
        ? []
        : [[name, { observedAt: timeOf(result.observedAt), hash: result.hash, ...(!isFresh && { isStale: true }) }]],
    ),
  )

/** All registries from what their sources give and what they were. Nothing is read or written here. */
export const foldRegistries = (
  config: Config,
  settled: readonly SettledSource[],
  before: ReadonlyMap<string, PublishedRegistry>,
  now: number,
): { readonly folded: readonly Folded[]; readonly findings: readonly Finding[] } => {
  const inputs = settled.flatMap(({ name, result, isFresh }): readonly SourceInput[] => {
    if (result === undefined) return []
    const hasClaims = config.sources.some((source) => source.name === name && source.hasClaims)
    return [{ name, hasClaims, observedAt: result.observedAt, isFresh, candidates: result.candidates }]
  })
  const folded = config.registries.map((registry): Folded => {
    const { pointer, state } = before.get(registry.name) ?? {}
    const own = settled.filter(({ name }) => registry.sources.includes(name))
    return {
      registry,
      compiled: compile(state, inputsOf(config, registry, inputs), timeAfter(pointer, now)),
      input: digestInput(config, registry, settled),
      sources: usesOf(own),
      approvedLosses: (pointer?.approvedLosses ?? []).filter(
        (loss) => !own.some(({ name, isFresh }) => isFresh && loss.startsWith(`${name}/`)),
      ),
      hasInput: own.some(({ result }) => result !== undefined),
    }
  })
  const compiled = folded.map((each) => each.compiled)
  const findings = orderFindings(
    [
      ...settled.flatMap(({ result, findings }) => [...(result?.findings ?? []), ...findings]),
      ...findUnused(config, inputs),
      ...compiled.flatMap((each) => each.findings),
    ],
    compiled,
  )
  return { folded, findings }
}
