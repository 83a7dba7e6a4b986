import type { Compiled } from '../../core/compile/compile.ts'
import { isSameJson } from '../../core/model/canonical-json.ts'
import type { Finding } from '../../core/model/finding.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import type { SourceUse } from '../../core/model/publication.ts'
import { isSourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import type { Config } from '../config/config.ts'
import { foldRegistries } from './fold-registries.ts'
import { sourceKeys } from './keys.ts'
import type { SettledSource } from './last-good.ts'
import { DamagedObject, readReplaceable } from './objects.ts'
import { readPointer } from './pointer-object.ts'
import { keepingOf, type PublishedRegistry, publishRegistry, readRegistry } from './publish-registry.ts'
import type { SourceRead } from './read-sources.ts'
import type { Outcome } from './report-of.ts'
import { settleSource } from './settle-source.ts'
import { checkIndex, writeIndex } from './write-index.ts'

/** What a round starts from. */
export type Given = {
  readonly config: Config
  readonly store: BlobStore
  readonly reads: ReadonlyMap<string, SourceRead>
  /** When the sync began, and what time it is now. */
  readonly began: number
  readonly now: number
  readonly isForced: boolean
  readonly isRetry: boolean
}

export type RoundOutcome = Outcome & {
  readonly compiled: Compiled | undefined
  readonly before: PublishedRegistry | undefined
}

export type Round = {
  readonly settled: readonly SettledSource[]
  readonly compiled: readonly Compiled[]
  readonly findings: readonly Finding[]
  readonly outcomes: readonly RoundOutcome[]
  /** Registries that readers were told of before, and are not any more. */
  readonly dropped: readonly string[]
}

/** A registry as it is, or why it cannot be read: then it is left as it is, and does not stop the others. */
type Before = { readonly published?: PublishedRegistry; readonly damage?: string }

const readBefore = async (store: BlobStore, name: string): Promise<Before> => {
  try {
    const published = await readRegistry(store, name)
    return published === undefined ? {} : { published }
  } catch (error) {
    if (!(error instanceof DamagedObject)) throw error
    return { damage: error.message }
  }
}

const settleAll = (given: Given, published: readonly PublishedRegistry[]): Promise<readonly SettledSource[]> => {
  const { config, store, reads, now, isForced, isRetry } = given
  const approved = new Set(published.flatMap(({ pointer }) => pointer.approvedLosses ?? []))
  return inParallel(config.sources, (source) =>
    settleSource(store, source, reads.get(source.name) ?? { kind: 'notAsked', observedAt: now }, {
      states: published.map(({ state }) => state),
      isApproved: (loss) => isForced || approved.has(loss),
      maxShrink: config.publish.maxShrink,
      used: published
        .flatMap(({ pointer }) => pointer.sources[source.name] ?? [])
        .reduce<SourceUse | undefined>((a, b) => (a !== undefined && a.observedAt > b.observedAt ? a : b), undefined),
      now,
      isRetry,
    }),
  )
}

/** From what was read to the pointers, once. `lost`: another was faster, and all of it is to be done again. */
export const runRound = async (given: Given): Promise<Round | 'lost'> => {
  const { config, store, began, now } = given
  await checkIndex(store, config, began, now)
  const publishable = config.registries.filter(({ hasClaims }) => !hasClaims)
  const found = new Map(
    await inParallel(publishable, async ({ name }) => [name, await readBefore(store, name)] as const),
  )
  const before = new Map([...found].flatMap(([name, { published }]) => (published ? [[name, published]] : [])))
  const settled = await settleAll(given, [...before.values()])
  const { folded, findings } = foldRegistries(config, settled, before, now)
  const outcomes: RoundOutcome[] = []
  for (const each of folded.filter(({ registry }) => !registry.hasClaims)) {
    const { name, sources } = each.registry
    const published = before.get(name)
    const about = { name, sources, input: each.input, before: published }
    const lost = settled.find((source) => source.isDamaged && sources.includes(source.name))
    const problem = found.get(name)?.damage ?? (lost && `The last good result of source ${lost.name} cannot be read`)
    if (problem !== undefined || !each.hasInput) {
      const why = problem === undefined ? ({ action: 'none' } as const) : ({ action: 'failed', problem } as const)
      outcomes.push({ ...about, ...why, pointer: published?.pointer, compiled: undefined, isHeld: false })
      continue
    }
    const said = findings.filter(({ registry }) => registry === undefined || registry === name)
    const result = await publishRegistry(store, each, published, said, now, keepingOf(config))
    if (result.kind === 'lost') return 'lost'
    outcomes.push({ ...about, ...result.plan, pointer: result.pointer, compiled: each.compiled })
  }
  const dropped = await writeIndex(store, config, began, now)
  return { settled, compiled: folded.map(({ compiled }) => compiled), findings, outcomes, dropped }
}

/** Has anybody published, or looked at a source, since we did? Then what we have made is not the newest. */
export const isOutrun = async (store: BlobStore, { settled, outcomes }: Round): Promise<boolean> => {
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
