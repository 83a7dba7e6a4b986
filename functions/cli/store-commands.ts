import { OperationError } from '../../core/model/operation-error.ts'
import type { HistoryItem, Pointer } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import type { Config } from '../config/config.ts'
import { approveLosses, type Changed, rollBack } from '../publication/change-pointer.ts'
import { type Comparison, comparePublications } from '../publication/compare-publications.ts'
import { registryKeys } from '../publication/keys.ts'
import { readReplaceable } from '../publication/objects.ts'
import { readPointer } from '../publication/pointer-object.ts'
import { isReport } from '../publication/report.ts'
import { withProbe } from '../publication/with-probe.ts'
import { loadConfig } from './load-config.ts'
import { renderDiff, renderDiffMarkdown } from './render-diff.ts'
import { renderHistory, renderStatus } from './render-status.ts'
import { UsageError, type World } from './world.ts'

export type StoreOptions = { readonly config?: string; readonly registry?: string; readonly at?: number }
export type Printing = { readonly json?: true; readonly markdown?: true }

type Opened = { readonly config: Config; readonly store: BlobStore; readonly registry: string; readonly now: number }

const openRegistry = async (options: StoreOptions, world: World): Promise<Opened> => {
  const { config } = await loadConfig(options.config, world)
  const names = config.registries.filter(({ hasClaims }) => !hasClaims).map(({ name }) => name)
  const registry = options.registry ?? names[0] ?? config.registries[0].name
  if (!names.includes(registry))
    throw new UsageError(`There is no registry ${registry} to look at; there are ${names.join(', ') || 'none'}.`)
  return {
    config,
    store: withProbe(await world.openStore(config.publish.store)),
    registry,
    now: options.at ?? world.now(),
  }
}

const published = async ({ store, registry, config }: Opened): Promise<Pointer> => {
  const pointer = await readPointer(store, registry)
  if (pointer === undefined)
    throw new OperationError(
      'NeverPublished',
      `Registry ${registry} has never been published to ${config.publish.store}. Run waypost sync first.`,
    )
  return pointer.value
}

const settle = (changed: Changed): Pointer => {
  if (changed.kind === 'refused') throw new OperationError('Refused', `${changed.reason}.`)
  return changed.pointer
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

export const approve = async (options: StoreOptions, world: World): Promise<void> => {
  const { config, store, registry, now } = await openRegistry(options, world)
  const { approvedLosses = [] } = settle(await approveLosses(store, registry, now, config.publish.keep))
  world.print(
    [
      `Approved for registry ${registry}; the next sync that sees them gone lets them go:`,
      ...approvedLosses.map((loss) => `  ${loss}`),
      '',
    ].join('\n'),
  )
}

export const history = async (options: StoreOptions & Printing, world: World): Promise<void> => {
  const pointer = await published(await openRegistry(options, world))
  world.print(options.json ? json(pointer.history) : renderHistory(pointer))
}

export const rollback = async (sequence: number, options: StoreOptions, world: World): Promise<void> => {
  const opened = await openRegistry(options, world)
  const { config, store, registry, now } = opened
  itemOf(registry, await published(opened), sequence)
  const pointer = settle(await rollBack(store, registry, sequence, now, config.publish.keep))
  world.print(
    `Registry ${registry} serves the document of publication ${sequence} again (now ${pointer.sequence}), until the cluster or the configuration changes.\n`,
  )
}

export const status = async (options: StoreOptions & Printing, world: World): Promise<void> => {
  const { config, store, registry, now } = await openRegistry(options, world)
  const served = config.registries.filter(({ hasClaims }) => !hasClaims).map(({ name }) => name)
  const found: unknown[] = []
  for (const name of options.registry === undefined ? served : [registry]) {
    const pointer = (await readPointer(store, name))?.value
    const report = (await readReplaceable(store, registryKeys(name).report, isReport))?.value
    if (options.json) found.push({ registry: name, pointer: pointer ?? null, report: report ?? null })
    else world.print(renderStatus(name, pointer, report, now))
  }
  if (options.json) world.print(json(found))
}

const printDiff = (registry: string, diff: Comparison, { json: isJson, markdown }: Printing): string => {
  if (isJson) return json({ registry, ...diff })
  return markdown ? renderDiffMarkdown(registry, diff) : renderDiff(diff)
}

const itemOf = (registry: string, { history, sequence }: Pointer, wanted: number): HistoryItem => {
  const item = history.find((each) => each.sequence === wanted)
  if (item === undefined)
    throw new UsageError(
      `Registry ${registry} has no publication ${wanted}; there are ${history[0]?.sequence} to ${sequence} (waypost history).`,
    )
  return item
}

/** Without numbers: what the last change of the document changed. With one: from there to now. */
export const diff = async (
  a: number | undefined,
  b: number | undefined,
  options: StoreOptions & Printing,
  world: World,
): Promise<void> => {
  const opened = await openRegistry(options, world)
  const pointer = await published(opened)
  const after = itemOf(opened.registry, pointer, b ?? pointer.sequence)
  const earlier = pointer.history.filter(({ sequence }) => sequence < after.sequence)
  const before =
    a === undefined
      ? earlier.findLast(({ document }) => document !== after.document)
      : itemOf(opened.registry, pointer, a)
  if (before === undefined && after.sequence > 1)
    world.printError('The publication before it is not kept any more: all that it lists counts as added.\n')
  world.print(
    printDiff(opened.registry, await comparePublications(opened.store, opened.registry, before, after), options),
  )
}
