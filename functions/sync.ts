import type { Compiled } from '../core/compile/compile.ts'
import { isSameJson } from '../core/model/canonical-json.ts'
import { type SourceUse, timeOf } from '../core/model/publication.ts'
import { isSourceState } from '../core/model/source-state.ts'
import type { BlobStore } from '../core/ports.ts'
import type { Compilation } from './compile.ts'
import type { Config } from './config/config.ts'
import { foldRegistries } from './publication/fold-registries.ts'
import { inParallel } from './publication/in-parallel.ts'
import { registryKeys, sourceKeys } from './publication/keys.ts'
import type { SettledSource } from './publication/last-good.ts'
import { measured } from './publication/measured.ts'
import { DamagedObject, encodeJson, readReplaceable } from './publication/objects.ts'
import { onceStored } from './publication/once-stored.ts'
import { readPointer } from './publication/pointer-object.ts'
import { keepingOf, type PublishedRegistry, publishRegistry, readRegistry } from './publication/publish-registry.ts'
import { type ReadSource, readSources, type SourceRead } from './publication/read-sources.ts'
import type { Report } from './publication/report.ts'
import { type Outcome, reportOf } from './publication/report-of.ts'
import { settleSource } from './publication/settle-source.ts'
import { tidy } from './publication/tidy.ts'
import { untilWon } from './publication/until-won.ts'
import { withProbe } from './publication/with-probe.ts'
import { checkIndex, writeIndex } from './publication/write-index.ts'

export type SyncWorld = {
  readonly store: BlobStore
  readonly now: () => number
  /** Reads the cluster of a source whole, or throws. */
  readonly readSource: ReadSource
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
}

export type Synced = {
  /** Were all sources read, nothing refused and nothing found damaged? */
  readonly isComplete: boolean
  readonly registries: readonly SyncedRegistry[]
  /** Registries that were served before and are not in the configuration any more. */
  readonly dropped: readonly string[]
  readonly compilation: Compilation
}

type Round = {
  readonly dropped: readonly string[]
  readonly settled: readonly SettledSource[]
  readonly compiled: readonly Compiled[]
  readonly findings: Compilation['findings']
  readonly outcomes: readonly (Outcome & {
    readonly compiled: Compiled | undefined
    readonly before: PublishedRegistry | undefined
  })[]
}

/** A registry that cannot be read whole is left as it is, and does not stop the others. */
const readBefore = async (
  store: BlobStore,
  name: string,
): Promise<{ readonly published?: PublishedRegistry; readonly damage?: string }> => {
  try {
    const published = await readRegistry(store, name)
    return published === undefined ? {} : { published }
  } catch (error) {
    if (!(error instanceof DamagedObject)) throw error
    return { damage: error.message }
  }
}

/** Has anybody published, or looked at a source, since we did? Then what we have made is not the newest. */
const isOutrun = async (store: BlobStore, { settled, outcomes }: Round): Promise<boolean> => {
  const moved = await inParallel(outcomes, async ({ name, pointer }) =>
    pointer === undefined ? false : (await readPointer(store, name))?.value.sequence !== pointer.sequence,
  )
  const looked = await inParallel(settled, async ({ name, state }) => {
    const now = await readReplaceable(store, sourceKeys(name).state, isSourceState)
    // Nothing is recorded of a source that was not asked and never was.
    return now?.value !== undefined && !isSameJson(now.value, state)
  })
  return [...moved, ...looked].some(Boolean)
}

/** From what was read to the pointers, once. Whoever finds that another was faster does all of it again. */
const runRound = async (
  config: Config,
  store: BlobStore,
  reads: ReadonlyMap<string, SourceRead>,
  began: number,
  now: number,
  isForced: boolean,
  isRetry: boolean,
): Promise<Round | 'lost'> => {
  await checkIndex(store, config, began, now)
  const publishable = config.registries.filter(({ hasClaims }) => !hasClaims)
  const found = new Map(
    await inParallel(publishable, async ({ name }) => [name, await readBefore(store, name)] as const),
  )
  const before = new Map([...found].flatMap(([name, { published }]) => (published ? [[name, published]] : [])))
  const pointers = [...before.values()].map(({ pointer }) => pointer)
  const approved = new Set(pointers.flatMap(({ approvedLosses = [] }) => approvedLosses))
  const settled = await inParallel(config.sources, (source) =>
    settleSource(store, source, reads.get(source.name) ?? { kind: 'notAsked', observedAt: now }, {
      states: [...before.values()].map(({ state }) => state),
      isApproved: (loss) => isForced || approved.has(loss),
      maxShrink: config.publish.maxShrink,
      used: pointers
        .flatMap(({ sources }) => sources[source.name] ?? [])
        .reduce<SourceUse | undefined>((a, b) => (a !== undefined && a.observedAt > b.observedAt ? a : b), undefined),
      now,
      isRetry,
    }),
  )
  const { folded, findings } = foldRegistries(config, settled, before, now)
  const outcomes: Round['outcomes'][number][] = []
  for (const each of folded.filter(({ registry }) => !registry.hasClaims)) {
    const { name, sources } = each.registry
    const published = before.get(name)
    const about = { name, sources, input: each.input, before: published }
    const lost = settled.find((source) => source.isDamaged && sources.includes(source.name))
    const problem = found.get(name)?.damage ?? (lost && `The last good result of source ${lost.name} cannot be read`)
    if (problem !== undefined || !each.hasInput) {
      const rest = { pointer: published?.pointer, compiled: undefined, isHeld: false }
      outcomes.push({
        ...about,
        ...rest,
        ...(problem === undefined ? { action: 'none' } : { action: 'failed', problem }),
      })
      continue
    }
    const said = findings.filter(({ registry }) => registry === undefined || registry === name)
    const result = await publishRegistry(store, each, published, said, now, keepingOf(config))
    if (result.kind === 'lost') return 'lost'
    outcomes.push({ ...about, ...result.plan, pointer: result.pointer, compiled: each.compiled })
  }
  const dropped = await writeIndex(store, config, began, now)
  return { dropped, settled, compiled: folded.map(({ compiled }) => compiled), findings, outcomes }
}

/** The whole job once: read, judge each source, fold, plan, store the objects, swap the pointers, tidy up, report. */
export const sync = async (config: Config, world: SyncWorld, options: SyncOptions = {}): Promise<Synced> => {
  const { now, onProgress = () => {} } = world
  const began = now()
  const { store: counted, cost } = measured(withProbe(world.store))
  const store = onceStored(counted)
  onProgress('reading')
  const reads = await readSources(config, world.readSource, now, options.only)

  /** What this sync wrote in a round that it then had to repeat is still what it did. */
  const dropped: string[] = []
  const written = new Map<string, Pick<Round['outcomes'][number], 'action' | 'pointer' | 'before'>>()
  const round = await untilWon('The registry', async (number) => {
    onProgress(number === 0 ? 'publishing' : `publishing again: another sync was faster (${number})`)
    const done = await runRound(config, store, reads, began, now(), options.isForced ?? false, number > 0)
    if (done === 'lost') return 'lost'
    dropped.push(...done.dropped)
    for (const { name, action, pointer, before } of done.outcomes)
      if (action === 'write' || (action === 'note' && !written.has(name)))
        written.set(name, { action, pointer, before })
    return (await isOutrun(store, done)) ? 'lost' : done
  })

  const { settled, findings } = round
  const outcomes = round.outcomes.map((outcome) => ({ ...outcome, ...written.get(outcome.name) }))
  // Not through the memory of what was stored: what is lost is to be sent again.
  const untidy = await tidy(
    config,
    counted,
    { hasWritten: written.size > 0, settled, registries: round.outcomes },
    now(),
  )
  const registries = await inParallel(outcomes, async ({ compiled: _, before, ...outcome }) => {
    const report = reportOf(outcome, settled, findings, {
      at: timeOf(now()),
      milliseconds: now() - began,
      cost: cost(),
      ...(untidy !== undefined && { retention: untidy.problem }),
    })
    await store.write(registryKeys(outcome.name).report, encodeJson(report), 'any')
    return { name: outcome.name, report, before }
  })
  const read = [...reads.values()].flatMap((each) => (each.kind === 'read' ? [each] : []))
  return {
    isComplete:
      !untidy?.isCurrent &&
      settled.every(({ isFresh }) => isFresh) &&
      outcomes.every(({ action }) => action !== 'failed'),
    registries,
    dropped,
    compilation: {
      registries: round.compiled,
      findings,
      snapshots: read.map(({ reading }) => reading.snapshot),
      walks: read.flatMap(({ reading, discovery }) =>
        discovery.walks.map((walk) => ({ source: reading.snapshot.source, walk })),
      ),
    },
  }
}
