import type { ReadAs } from '../../core/model/snapshot.ts'
import type { BlobStore } from '../../core/ports.ts'
import type { Config } from '../config/config.ts'
import { nearest } from '../nearest.ts'
import { type Comparison, comparePublications } from '../publication/compare-publications.ts'
import { absentIfDamaged } from '../publication/objects.ts'
import { readPointer } from '../publication/pointer-object.ts'
import { withoutWrites } from '../publication/without-writes.ts'
import { type Synced, sync } from '../sync.ts'
import { loadConfig } from './load-config.ts'
import { renderSync, syncJson } from './render-sync.ts'
import { clusterOpener, sourceReader, tellerOf } from './source-reader.ts'
import { UsageError, type World } from './world.ts'

export type SyncCommand = {
  readonly from?: string
  readonly as: ReadAs
  readonly config?: string
  readonly source?: string
  readonly force?: true
  readonly dryRun?: true
  readonly at?: number
  readonly json?: true
  readonly store?: string
}

export const checkSource = (config: Config, source: string | undefined): void => {
  const names = config.sources.map(({ name }) => name)
  if (source !== undefined && !names.includes(source)) {
    const [meant] = nearest(source, names)
    throw new UsageError(
      `There is no source ${source}; ${meant === undefined ? `there are ${names.join(', ')}` : `did you mean ${meant}?`}`,
    )
  }
  if (config.registries.every(({ hasClaims }) => hasClaims))
    throw new UsageError(
      'Every registry has claims, and private registries are not built yet: there is nothing to publish.',
    )
}

/** What each registry that was written has become, against what it was. */
export const changesOf = async (store: BlobStore, { registries }: Synced): Promise<ReadonlyMap<string, Comparison>> => {
  const changes = new Map<string, Comparison>()
  for (const { name, report, before } of registries.filter((each) => each.report.action === 'write')) {
    const after = (await readPointer(store, name))?.value.history.find(({ sequence }) => sequence === report.sequence)
    const earlier = before?.pointer.history.at(-1)
    // What changed cannot be shown where the publication before is damaged; what was published is published.
    const change = after && (await comparePublications(store, name, earlier, after).catch(absentIfDamaged))
    if (change !== undefined) changes.set(name, change)
  }
  return changes
}

/** Runs a sync and says what it did. The exit code is 1 where a source failed or was refused. */
export const runSync = async (options: SyncCommand, world: World): Promise<number> => {
  const { config } = await loadConfig(options.config, world)
  checkSource(config, options.source)
  const opened = await world.openStore(options.store ?? config.publish.store)
  const store = options.dryRun ? withoutWrites(opened) : opened
  const { at, force, source, from, as } = options
  const open = clusterOpener(world)
  const synced = await sync(
    config,
    {
      store,
      now: at === undefined ? world.now : () => at,
      readSource: sourceReader(from, as, world, open),
      ...(from === undefined && !options.dryRun && { tell: tellerOf(config, open) }),
      ...(world.progress && { onProgress: world.progress }),
    },
    { isForced: force ?? false, ...(source !== undefined && { only: source }) },
  )
  world.print(
    options.json ? syncJson(synced) : renderSync(synced, await changesOf(store, synced), options.dryRun ?? false),
  )
  return synced.isComplete ? 0 : 1
}
