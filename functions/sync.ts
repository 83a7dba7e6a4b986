import { inParallel } from '../core/model/in-parallel.ts'
import { timeOf } from '../core/model/publication.ts'
import type { BlobStore } from '../core/ports.ts'
import type { Compilation } from './compile.ts'
import type { Config } from './config/config.ts'
import { registryKeys } from './publication/keys.ts'
import { measured } from './publication/measured.ts'
import { encodeJson } from './publication/objects.ts'
import { onceStored } from './publication/once-stored.ts'
import type { PublishedRegistry } from './publication/publish-registry.ts'
import { type ReadSource, readSources } from './publication/read-sources.ts'
import type { Report } from './publication/report.ts'
import { reportOf } from './publication/report-of.ts'
import { isOutrun, type RoundOutcome, runRound } from './publication/run-round.ts'
import { tidy } from './publication/tidy.ts'
import { untilWon } from './publication/until-won.ts'
import { withProbe } from './publication/with-probe.ts'
import { type Tell, type ToldOwners, tellOwners } from './tell-owners.ts'

export type SyncWorld = {
  readonly store: BlobStore
  readonly now: () => number
  /** Reads the cluster of a source whole, or throws. */
  readonly readSource: ReadSource
  readonly onProgress?: (text: string) => void
  /** Tells the owners in a cluster, where the configuration asks for it. */
  readonly tell?: Tell
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
  const written = new Map<string, Pick<RoundOutcome, 'action' | 'pointer' | 'before'>>()
  const round = await untilWon('The registry', async (number) => {
    onProgress(number === 0 ? 'publishing' : `publishing again: another sync was faster (${number})`)
    const isForced = options.isForced ?? false
    const done = await runRound({ config, store, reads, began, now: now(), isForced, isRetry: number > 0 })
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
  const read = [...reads.values()].flatMap((each) => (each.kind === 'read' ? [each] : []))
  const costs = new Map(
    read.flatMap(({ reading: { snapshot, cost } }) => (cost === undefined ? [] : [[snapshot.source, cost] as const])),
  )
  const snapshots = read.map(({ reading }) => reading.snapshot)
  const at = timeOf(now())
  const names = outcomes.map(({ name }) => name)
  const owners: ToldOwners =
    config.report.events && world.tell !== undefined
      ? await tellOwners(world.tell, store, names, findings, snapshots, at)
      : { told: new Map() }
  const registries = await inParallel(outcomes, async ({ compiled: _, before, ...outcome }) => {
    const report = reportOf(outcome, settled, findings, owners.told, costs, {
      at,
      milliseconds: now() - began,
      cost: cost(),
      ...(untidy !== undefined && { retention: untidy.problem }),
      ...(owners.problem !== undefined && { untold: owners.problem }),
    })
    await store.write(registryKeys(outcome.name).report, encodeJson(report), 'any')
    return { name: outcome.name, report, before }
  })
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
      snapshots,
      walks: read.flatMap(({ reading, discovery }) =>
        discovery.walks.map((walk) => ({ source: reading.snapshot.source, walk })),
      ),
    },
  }
}
