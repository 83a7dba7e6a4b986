import type { Candidate } from '../../core/model/candidate.ts'
import { type Finding, findingOf } from '../../core/model/finding.ts'
import { sourceSubject } from '../../core/model/resource.ts'
import type { SourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { isInScope, lossOf } from '../../core/publish/guard.ts'
import type { SourceConfig } from '../config/config.ts'
import { sourceKeys } from './keys.ts'
import { absentIfDamaged, DamagedObject } from './objects.ts'
import { writePaged } from './paged.ts'
import { readResult, type StoredResult, toResultObject } from './source-result.ts'

// What a source gave when it was last read well: what is given of it when it cannot be read now.

export type Good = NonNullable<SourceState['good']>

/** What a source gives to this sync: what was read now, or its last good result, or nothing. */
export type SettledSource = {
  readonly name: string
  readonly result?: StoredResult & { readonly observedAt: number }
  readonly isFresh: boolean
  /** About the source itself. */
  readonly findings: readonly Finding[]
  readonly state: SourceState
  /** Its last good result cannot be had: whoever was made of it must not be made without it. */
  readonly isDamaged: boolean
}

const staleness = (source: string, good: Good | undefined, { problem, shrink }: SourceState): readonly Finding[] => {
  const why = problem ?? 'no sync has asked for it yet'
  return [
    ...(shrink === undefined ? [] : [findingOf(sourceSubject(source), { code: 'ShrinkRefused', ...shrink })]),
    good === undefined
      ? findingOf(sourceSubject(source), { code: 'SourceFailed', problem: why })
      : findingOf(sourceSubject(source), { code: 'SourceStale', problem: why, observedAt: good.observedAt }),
  ]
}

/** What stands in the store: fresh if the last read was good. An old result that nobody uses any more is not given. */
export const takeStored = async (
  store: BlobStore,
  source: SourceConfig,
  state: SourceState,
  isUsed: boolean,
): Promise<SettledSource> => {
  const { name } = source
  const good = isUsed ? state.good : undefined
  const isFresh = good !== undefined && state.attempts === 0
  const settled = { name, isFresh, findings: isFresh ? [] : staleness(name, good, state), state, isDamaged: false }
  if (good === undefined) return settled
  try {
    const { candidates, ...rest } = await readResult(store, name, good.hash)
    // What the configuration leaves out by now is not served from before.
    const inScope = candidates.filter(({ ref }) => isInScope(source.scope, ref))
    return { ...settled, result: { ...rest, candidates: inScope, observedAt: Date.parse(good.observedAt) } }
  } catch (error) {
    if (!(error instanceof DamagedObject)) throw error
    const findings = staleness(name, undefined, { ...state, problem: error.message })
    return { ...settled, isFresh: false, findings, isDamaged: true }
  }
}

/** The last good result without those whose owners were seen to say no: they must not come back by the next failure. */
export const amend = async (
  store: BlobStore,
  source: string,
  good: Good,
  isWithdrawn: (candidate: Candidate) => boolean,
): Promise<Good> => {
  const result = await readResult(store, source, good.hash).catch(absentIfDamaged)
  const candidates = result?.candidates.filter((candidate) => !isWithdrawn(candidate))
  if (result === undefined || candidates === undefined || candidates.length === result.candidates.length) return good
  const paged = toResultObject({ ...result, candidates })
  await writePaged(store, sourceKeys(source).result, paged, good.hash)
  return { ...good, hash: paged.digest, servers: candidates.length }
}

/** What the last good result lacks. Where that cannot be read, nothing was gone. */
export const goneBefore = async (store: BlobStore, source: string, good: Good): Promise<(loss: string) => boolean> => {
  const result = await readResult(store, source, good.hash).catch(absentIfDamaged)
  if (result === undefined) return () => false
  const there = new Set(result.candidates.map(({ ref }) => lossOf(ref)))
  return (loss) => !there.has(loss)
}
