import { canonicalJson, isSameJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { type SourceUse, timeOf } from '../../core/model/publication.ts'
import { isSourceState, type SourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { type GuardPolicy, type Judgement, judgeRead } from '../../core/publish/judge-read.ts'
import type { SourceConfig } from '../config/config.ts'
import { CLOCK_TOLERANCE } from './clock-tolerance.ts'
import { sourceKeys } from './keys.ts'
import { amend, type Good, goneBefore, type SettledSource, takeStored } from './last-good.ts'
import { encodeJson, readReplaceable } from './objects.ts'
import { type Paged, writePaged } from './paged.ts'
import type { SourceRead } from './read-sources.ts'
import { contentOf, toResultObject } from './source-result.ts'
import { untilWon } from './until-won.ts'

/** What the registries bring to the judgement of a source. */
export type Surroundings = Pick<GuardPolicy, 'states' | 'isApproved' | 'maxShrink'> & {
  /** The newest result of the source that a registry was made of; without one, an old result is nobody's. */
  readonly used: SourceUse | undefined
  readonly now: number
  /** Somebody was faster: what was recorded meanwhile stands, also where its time is ours. */
  readonly isRetry: boolean
}

const selectionOf = ({ scope, gatewayApi }: SourceConfig): string =>
  digestOf(canonicalJson({ labelSelector: scope.labelSelector, gatewayApi }))

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
  const recorded = before?.good ?? known
  const good = used === undefined ? undefined : recorded
  const seenAt = before?.seenAt ?? timeOf(0)
  const ahead = Date.parse(seenAt) - read.observedAt
  const isOutrun = isRetry ? ahead >= 0 : ahead > 0 && seenAt <= timeOf(now + CLOCK_TOLERANCE)
  const standing: SourceState = { attempts: 0, ...before, seenAt, ...(recorded && { good: recorded }) }
  // Somebody looked later than we did: what was removed by then must not come back through us.
  if (isOutrun && before !== undefined) return takeStored(store, source, before, true)
  if (read.kind === 'notAsked')
    return { ...(await takeStored(store, source, standing, good !== undefined)), state: before ?? standing }

  const attempts = standing.attempts + (isRetry && standing.attempts > 0 ? 0 : 1)
  if (read.kind === 'failed')
    return takeStored(store, source, { ...standing, attempts, problem: read.problem }, good !== undefined)
  const result = {
    candidates: read.discovery.candidates,
    findings: [...read.reading.findings, ...read.discovery.findings],
  }
  // Looks have an order also where a clock was set back; what grace is measured by is the clock itself.
  const looked = timeOf(ahead > 0 ? read.observedAt + ahead + 1 : read.observedAt)
  const paged = toResultObject(result)
  const judged = judge(source, read, good, paged, around)
  // A sync may have ended between this result and its publication. It is read only where that could matter.
  const judgement =
    judged.kind === 'bad' && judged.losses.length > 0 && good !== undefined
      ? judge(source, read, good, paged, around, await goneBefore(store, name, good))
      : judged
  if (judgement.kind === 'bad') {
    const { problem, losses, shrink } = judgement
    const left = good && (await amend(store, name, good, judgement.isWithdrawn))
    const { shrink: _, ...rest } = standing
    const state = {
      ...rest,
      seenAt: looked,
      attempts,
      problem,
      losses,
      ...(shrink && { shrink }),
      ...(left && { good: left }),
    }
    return takeStored(store, source, state, good !== undefined)
  }
  await writePaged(store, sourceKeys(name).result, paged, before?.good?.hash)
  const found: Good = {
    observedAt: timeOf(read.observedAt),
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
    result: { ...result, hash: paged.digest, content: contentOf(paged), observedAt: read.observedAt },
    state: { good: found, seenAt: looked, attempts: 0 },
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
    if (read.kind === 'notAsked' || isSameJson(settled.state, before?.value)) return settled
    const expected = before === undefined ? 'absent' : { etag: before.etag }
    const written = await store.write(key, encodeJson(settled.state), expected)
    return written.kind === 'written' ? settled : 'lost'
  })
}
