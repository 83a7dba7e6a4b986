import { type Discovery, discover } from '../../core/discover/discover.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { SnapshotReading } from '../../core/model/snapshot.ts'
import type { Config, SourceConfig } from '../config/config.ts'

/** How reading a source went. `observedAt` is when the read began: what changed while it ran may not be in it. */
export type SourceRead = { readonly observedAt: number } & (
  | { readonly kind: 'read'; readonly reading: SnapshotReading; readonly discovery: Discovery }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'notAsked' }
)

export type ReadSource = (source: SourceConfig) => Promise<SnapshotReading>

/** Reads all sources, or only one. A failure is caught here, for its source alone: the others go on. */
export const readSources = async (
  { sources, discovery }: Config,
  readSource: ReadSource,
  now: () => number,
  only: string | undefined,
): Promise<ReadonlyMap<string, SourceRead>> => {
  const readOne = async (source: SourceConfig): Promise<SourceRead> => {
    const observedAt = now()
    if (only !== undefined && only !== source.name) return { kind: 'notAsked', observedAt }
    try {
      const reading = await readSource(source)
      return { kind: 'read', observedAt, reading, discovery: discover(reading.snapshot, discovery) }
    } catch (error) {
      if (!(error instanceof OperationError)) throw error
      return { kind: 'failed', observedAt, problem: `${error.message.replace(/\.$/, '')} (${error.code})` }
    }
  }
  return new Map(await inParallel(sources, async (source) => [source.name, await readOne(source)] as const))
}
