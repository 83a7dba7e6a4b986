import { type Compiled, compile, type SourceInput } from '../core/compile/compile.ts'
import { orderFindings } from '../core/compile/report.ts'
import { discover } from '../core/discover/discover.ts'
import { canonicalJson } from '../core/model/canonical-json.ts'
import { digestOf } from '../core/model/digest.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { SnapshotReading } from '../core/model/parse-snapshot.ts'
import { type Pointer, timeOf } from '../core/model/publication.ts'
import type { BlobStore } from '../core/ports.ts'
import { assemble } from '../core/publish/assemble.ts'
import { timeAfter } from '../core/publish/next-pointer.ts'
import { type Compilation, findUnused, inputsOf } from './compile.ts'
import type { Config, RegistryConfig, SourceConfig } from './config/config.ts'
import { registryKeys } from './publication/keys.ts'
import { measured } from './publication/measured.ts'
import { encodeJson, inParallel } from './publication/objects.ts'
import { writePaged } from './publication/paged.ts'
import { withProbe } from './publication/probe.ts'
import { type PublishedRegistry, publishRegistry, readRegistry, writeDocument } from './publication/publish-registry.ts'
import { pointerFacts, type Report, reportedFindings, sourceReport } from './publication/report.ts'
import { type SettledSource, type SourceRead, settleSource } from './publication/settle-source.ts'
import { toStateObject } from './publication/state-object.ts'
import { sweep } from './publication/sweep.ts'
import { writeIndex } from './publication/write-index.ts'

export type SyncWorld = {
  readonly store: BlobStore
  readonly now: () => number
  /** Reads the cluster of a source whole, or throws. */
  readonly readSource: (source: SourceConfig) => Promise<SnapshotReading>
  readonly onProgress?: (text: string) => void
}

export type SyncOptions = {
  /** Lets losses pass that the guard would refuse. */
  readonly isForced?: boolean
  /** Reads only this source; the others give what they last gave. */
  readonly only?: string
}

export type SyncedRegistry = {
  readonly name: string
  readonly report: Report
  readonly before: PublishedRegistry | undefined
  readonly compiled: Compiled | undefined
}

export type Synced = {
  /** Were all sources read, and nothing refused? */
  readonly isComplete: boolean
  readonly registries: readonly SyncedRegistry[]
  readonly compilation: Compilation
}

const MOST_ATTEMPTS = 100

/** A failed read is caught here, for its source alone: the others go on. */
const readOne = async (config: Config, source: SourceConfig, world: SyncWorld): Promise<SourceRead> => {
  const observedAt = world.now()
  try {
    world.onProgress?.(`reading ${source.name}`)
    const reading = await world.readSource(source)
    return { kind: 'read', observedAt, reading, discovery: discover(reading.snapshot, config.discovery) }
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    return { kind: 'failed', observedAt, problem: error.message.replace(/\.$/, '') }
  }
}

const toInput = (config: Config, { name, result, isFresh }: SettledSource): readonly SourceInput[] => {
  if (result === undefined) return []
  const hasClaims = config.sources.some((source) => source.name === name && source.hasClaims)
  return [{ name, hasClaims, observedAt: result.observedAt, isFresh, candidates: result.candidates }]
}

/** What a registry is made from, without times: equal inputs give the registry that is there. */
const digestInput = (config: Config, registry: RegistryConfig, settled: readonly SettledSource[]): string =>
  digestOf(
    canonicalJson({
      registry,
      discovery: config.discovery,
      tombstones: config.publish.tombstones,
      kubernetesMetadata: config.publish.kubernetesMetadata,
      claims: config.sources.filter(({ hasClaims }) => hasClaims).map(({ name }) => name),
      sources: settled
        .filter(({ name }) => registry.sources.includes(name))
        .map(({ name, result }) => [name, result?.content ?? '']),
    }),
  )

const sourceUses = (registry: RegistryConfig, settled: readonly SettledSource[]): Pointer['sources'] =>
  Object.fromEntries(
    settled.flatMap(({ name, result, isFresh }) =>
      result === undefined || !registry.sources.includes(name)
        ? []
        : [[name, { observedAt: timeOf(result.observedAt), hash: result.hash, ...(!isFresh && { isStale: true }) }]],
    ),
  )

type Attempt = {
  readonly settled: readonly SettledSource[]
  readonly compilation: Compilation
  readonly registries: readonly (Omit<SyncedRegistry, 'report'> & {
    readonly action: Report['action']
    readonly isHeld: boolean
    readonly pointer: Pointer | undefined
    readonly input: string
  })[]
}

/** Everything from the inputs to the pointers, once. `lost`: somebody else published meanwhile, so all of it is to be done again. */
const attemptSync = async (
  config: Config,
  store: BlobStore,
  reads: ReadonlyMap<string, SourceRead>,
  now: number,
  options: SyncOptions,
): Promise<Attempt | 'lost'> => {
  const publishable = config.registries.filter(({ hasClaims }) => !hasClaims)
  const before = new Map(
    await inParallel(publishable, async ({ name }) => [name, await readRegistry(store, name)] as const),
  )
  const published = [...before.values()].filter((each) => each !== undefined)
  const guard = {
    states: published.map(({ state }) => state),
    approved: new Set(published.flatMap(({ pointer }) => pointer.approvedLosses ?? [])),
    isForced: options.isForced ?? false,
    maxShrink: config.publish.maxShrink,
  }
  const settled = await inParallel(config.sources, (source) =>
    settleSource(store, source, reads.get(source.name) ?? { kind: 'notAsked', observedAt: now }, guard),
  )
  await writeIndex(store, config)

  const inputs = settled.flatMap((each) => toInput(config, each))
  const compiled = config.registries.map((registry) => {
    const { pointer, state } = before.get(registry.name) ?? {}
    return compile(state, inputsOf(config, registry, inputs), timeAfter(pointer, now))
  })
  const findings = orderFindings(
    [
      ...settled.flatMap(({ result, findings }) => [...(result?.findings ?? []), ...findings]),
      ...findUnused(config, inputs),
      ...compiled.flatMap((each) => each.findings),
    ],
    compiled,
  )
  const registries: Attempt['registries'][number][] = []
  for (const registry of publishable) {
    const { name } = registry
    const own = compiled.find(({ document }) => document.registry === name)
    const input = digestInput(config, registry, settled)
    const hasInput = inputs.some((input) => registry.sources.includes(input.name))
    if (own === undefined || !hasInput) {
      const none = { action: 'none', isHeld: false, pointer: undefined, compiled: undefined, input } as const
      registries.push({ name, before: before.get(name), ...none })
      continue
    }
    const result = await publishRegistry(
      store,
      {
        registry: name,
        compiled: own,
        input,
        sources: sourceUses(registry, settled),
        before: before.get(name),
        approvedLosses: (before.get(name)?.pointer.approvedLosses ?? []).filter(
          (loss) => !settled.some(({ name, isFresh }) => isFresh && loss.startsWith(`${name}/`)),
        ),
        now,
        keep: config.publish.keep,
        tombstones: config.publish.tombstones,
        pendingGrace: config.discovery.pendingGrace,
      },
      findings.filter(({ registry }) => registry === undefined || registry === name),
    )
    if (result.kind === 'lost') return 'lost'
    const { plan, pointer } = result
    const isHeld = plan.action === 'keep' && plan.isHeld
    registries.push({ name, before: before.get(name), compiled: own, action: plan.action, isHeld, pointer, input })
  }
  const read = [...reads.values()].flatMap((each) => (each.kind === 'read' ? [each] : []))
  const compilation = {
    registries: compiled,
    findings,
    snapshots: read.map(({ reading }) => reading.snapshot),
    walks: read.flatMap(({ reading, discovery }) =>
      discovery.walks.map((walk) => ({ source: reading.snapshot.source, walk })),
    ),
  }
  return { settled, compilation, registries }
}

/** Stores again what a publication needs and the store has lost, where that is what was just compiled. */
const repair = async (store: BlobStore, { registries }: Attempt, missing: readonly string[]): Promise<void> => {
  for (const { name, compiled, pointer } of registries) {
    if (compiled === undefined || pointer === undefined || !missing.some((key) => key.startsWith(`${name}/`))) continue
    const keys = registryKeys(name)
    const state = toStateObject(compiled.state)
    if (state.digest === pointer.state) await writePaged(store, keys.state, state, undefined)
    const assembled = assemble(compiled.document)
    if (pointer.publication.endsWith(`-${assembled.digest}`))
      await writeDocument(store, name, pointer.publication, assembled, compiled.findings, new Set())
  }
}

/** Housekeeping after a publication that stands: when it fails, that is said, and the next sync does it. */
const tidy = async (config: Config, store: BlobStore, attempt: Attempt, now: number): Promise<string | undefined> => {
  const registries = attempt.registries.map(({ name }) => name)
  const sources = config.sources.map(({ name }) => name)
  try {
    const { missing } = await sweep(store, registries, sources, now)
    await repair(store, attempt, missing)
    return undefined
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    return error.message
  }
}

/** The whole job once: read, judge each source, fold, plan, store the objects, swap the pointers, report. */
export const sync = async (config: Config, world: SyncWorld, options: SyncOptions = {}): Promise<Synced> => {
  const began = world.now()
  const { store, cost } = measured(withProbe(world.store))
  const asked = config.sources.filter(({ name }) => options.only === undefined || options.only === name)
  const reads = new Map(
    await inParallel(asked, async (source) => [source.name, await readOne(config, source, world)] as const),
  )
  let attempt: Attempt | 'lost' = 'lost'
  for (let tries = 0; attempt === 'lost'; tries++) {
    if (tries === MOST_ATTEMPTS)
      throw new OperationError(
        'TooManySyncs',
        `Other syncs published first ${MOST_ATTEMPTS} times in a row. Run fewer syncs at once, and try again.`,
      )
    world.onProgress?.(tries === 0 ? 'publishing' : `publishing again: another sync was faster (${tries})`)
    attempt = await attemptSync(config, store, reads, world.now(), options)
  }
  const { settled, compilation } = attempt
  const retention = await tidy(config, store, attempt, world.now())
  const registries = await inParallel(attempt.registries, async ({ action, isHeld, pointer, input, ...registry }) => {
    const sources = config.registries.find(({ name }) => name === registry.name)?.sources ?? []
    const report: Report = {
      at: timeOf(world.now()),
      action,
      isHeld,
      ...pointerFacts(pointer),
      input,
      milliseconds: world.now() - began,
      cost: cost(),
      sources: settled
        .filter(({ name }) => sources.includes(name))
        .map(({ name, isFresh, state, losses }) => sourceReport(name, isFresh, state, losses)),
      ...reportedFindings(compilation.findings, registry.name, sources),
      ...(retention !== undefined && { retention }),
    }
    await store.write(registryKeys(registry.name).report, encodeJson(report), 'any')
    return { ...registry, report }
  })
  return { isComplete: settled.every(({ isFresh }) => isFresh), registries, compilation }
}
