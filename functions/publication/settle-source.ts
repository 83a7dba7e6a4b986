import type { Candidate } from '../../core/model/candidate.ts'
import { canonicalJson, isSameJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { type Finding, findingOf } from '../../core/model/finding.ts'
import { type SourceUse, timeOf } from '../../core/model/publication.ts'
import { sourceSubject } from '../../core/model/resource.ts'
import { isSourceState, type SourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { isInScope, lossOf } from '../../core/publish/guard.ts'
import { type GuardPolicy, type Judgement, judgeRead } from '../../core/publish/judge-read.ts'
import type { SourceConfig } from '../config/config.ts'
import { sourceKeys } from './keys.ts'
import { DamagedObject, encodeJson, readReplaceable } from './objects.ts'
import { type Paged, writePaged } from './paged.ts'
import type { SourceRead } from './read-sources.ts'
import { contentOf, readResult, type StoredResult, toResultObject } from './source-result.ts'
import { untilWon } from './until-won.ts'
import { CLOCK_TOLERANCE } from './write-index.ts'

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

/** What the registries bring to the judgement of a source. */
export type Surroundings = Pick<GuardPolicy, 'states' | 'isApproved' | 'maxShrink'> & {
  /** The newest result of the source that a registry was made of; without one, an old result is nobody's. */
  readonly used: SourceUse | undefined
  readonly now: number
  /** Somebody was faster: what was recorded meanwhile stands, also where its time is ours. */
  readonly isRetry: boolean
}

type Good = NonNullable<SourceState['good']>

const selectionOf = ({ scope, gatewayApi }: SourceConfig): string =>
  digestOf(canonicalJson({ labelSelector: scope.labelSelector, gatewayApi }))

const staleness = (source: string, good: Good | undefined, problem: string): Finding =>
  good === undefined
    ? findingOf(sourceSubject(source), { code: 'SourceFailed', problem })
    : findingOf(sourceSubject(source), { code: 'SourceStale', problem, observedAt: good.observedAt })

/** What stands in the store, as it is: fresh if the last read was good. */
const takeStored = async (store: BlobStore, source: SourceConfig, state: SourceState): Promise<SettledSource> => {
  const { name } = source
  const { good, attempts, problem = 'no sync has asked for it yet' } = state
  const isFresh = good !== undefined && attempts === 0
  const settled = { name, isFresh, findings: isFresh ? [] : [staleness(name, good, problem)], state, isDamaged: false }
  if (good === undefined) return settled
  try {
    const { candidates, ...rest } = await readResult(store, name, good.hash)
    // What the configuration leaves out by now is not served from before.
    const inScope = candidates.filter(({ ref }) => isInScope(source.scope, ref))
    return { ...settled, result: { ...rest, candidates: inScope, observedAt: Date.parse(good.observedAt) } }
  } catch (error) {
    if (!(error instanceof DamagedObject)) throw error
    return { ...settled, isFresh: false, findings: [staleness(name, undefined, error.message)], isDamaged: true }
  }
}

/** The last good result without those whose owners were seen to say no: they must not come back by the next failure. */
const amend = async (
  store: BlobStore,
  source: string,
  good: Good,
  isWithdrawn: (candidate: Candidate) => boolean,
): Promise<Good> => {
  const result = await readResult(store, source, good.hash)
  const candidates = result.candidates.filter((candidate) => !isWithdrawn(candidate))
  if (candidates.length === result.candidates.length) return good
  const paged = toResultObject({ ...result, candidates })
  await writePaged(store, sourceKeys(source).result, paged, good.hash)
  return { ...good, hash: paged.digest, servers: candidates.length }
}

/** What the last good result lacks. Where that cannot be read, nothing was gone. */
const goneBefore = async (store: BlobStore, source: string, good: Good): Promise<GuardPolicy['wasGone']> => {
  try {
    const { candidates } = await readResult(store, source, good.hash)
    const there = new Set(candidates.map(({ ref }) => lossOf(ref)))
    return (loss) => !there.has(loss)
  } catch (error) {
    if (!(error instanceof DamagedObject)) throw error
    return () => false
  }
}

const judge = (
  source: SourceConfig,
  { reading, discovery }: Extract<SourceRead, { kind: 'read' }>,
  good: Good | undefined,
  paged: Paged,
  around: Surroundings,
  wasGone: GuardPolicy['wasGone'] = () => false,
): Judgement =>
  judgeRead(
    {
      snapshot: reading.snapshot,
      candidates: discovery.candidates,
      findings: [...reading.findings, ...discovery.findings],
    },
    {
      ...around,
      wasGone,
      gatewayApi: source.gatewayApi,
      listedBefore: good?.kinds ?? [],
      isAccepted: good !== undefined && (good.hash === paged.digest || good.selection !== selectionOf(source)),
    },
  )

const settleOnce = async (
  store: BlobStore,
  source: SourceConfig,
  read: SourceRead,
  around: Surroundings,
  before: SourceState | undefined,
): Promise<SettledSource> => {
  const { name } = source
  const { used, now, isRetry } = around
  const known: Good | undefined = used && { ...used, kinds: [], selection: selectionOf(source), servers: 0 }
  const good = used === undefined ? undefined : (before?.good ?? known)
  const seenAt = before?.seenAt ?? timeOf(0)
  const ahead = Date.parse(seenAt) - read.observedAt
  const isOutrun = isRetry ? ahead >= 0 : ahead > 0 && seenAt <= timeOf(now + CLOCK_TOLERANCE)
  const { good: _, ...rest } = before ?? { attempts: 0 }
  const standing: SourceState = { ...rest, seenAt, ...(good && { good }) }
  // Somebody looked later than we did: what was removed by then must not come back through us.
  if (isOutrun && before !== undefined) return takeStored(store, source, before)
  if (read.kind === 'notAsked') return takeStored(store, source, standing)

  const attempts = standing.attempts + (isRetry && standing.attempts > 0 ? 0 : 1)
  if (read.kind === 'failed') {
    return takeStored(store, source, { ...standing, attempts, problem: read.problem })
  }
  const result = {
    candidates: read.discovery.candidates,
    findings: [...read.reading.findings, ...read.discovery.findings],
  }
  const observedAt = Math.max(read.observedAt, ahead > 0 ? read.observedAt + ahead + 1 : 0)
  const paged = toResultObject(result)
  const judged = judge(source, read, good, paged, around)
  // A sync may have ended between this result and its publication. It is read only where that could matter.
  const judgement =
    judged.kind === 'bad' && judged.losses.length > 0 && good !== undefined
      ? judge(source, read, good, paged, around, await goneBefore(store, name, good))
      : judged
  if (judgement.kind === 'bad') {
    const { problem, losses } = judgement
    const state = { ...standing, seenAt: timeOf(observedAt), attempts, problem, losses }
    try {
      const left = good && (await amend(store, name, good, judgement.isWithdrawn))
      const settled = await takeStored(store, source, { ...state, ...(left && { good: left }) })
      return { ...settled, findings: [...judgement.findings, ...settled.findings] }
    } catch (error) {
      if (!(error instanceof DamagedObject)) throw error
      return takeStored(store, source, state)
    }
  }
  await writePaged(store, sourceKeys(name).result, paged, before?.good?.hash)
  const found: Good = {
    observedAt: timeOf(observedAt),
    hash: paged.digest,
    kinds: judgement.kinds,
    selection: selectionOf(source),
    servers: result.candidates.length,
  }
  return {
    name,
    isFresh: true,
    findings: [],
    isDamaged: false,
    result: { ...result, hash: paged.digest, content: contentOf(paged), observedAt },
    state: { good: found, seenAt: timeOf(observedAt), attempts: 0 },
  }
}

/** Decides what a source gives, and records it. Of two syncs that read at the same time the later look stays. */
export const settleSource = (
  store: BlobStore,
  source: SourceConfig,
  read: SourceRead,
  around: Surroundings,
): Promise<SettledSource> => {
  const key = sourceKeys(source.name).state
  return untilWon(`Source ${source.name}`, async (round) => {
    const before = await readReplaceable(store, key, isSourceState)
    const isRetry = around.isRetry || round > 0
    const settled = await settleOnce(store, source, read, { ...around, isRetry }, before?.value)
    if (isSameJson(settled.state, before?.value)) return settled
    const expected = before === undefined ? 'absent' : { etag: before.etag }
    const written = await store.write(key, encodeJson(settled.state), expected)
    return written.kind === 'written' ? settled : 'lost'
  })
}
