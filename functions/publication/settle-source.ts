import type { Discovery } from '../../core/discover/discover.ts'
import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { type Finding, findingOf } from '../../core/model/finding.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { SnapshotReading } from '../../core/model/parse-snapshot.ts'
import { timeOf } from '../../core/model/publication.ts'
import type { ResourceRef } from '../../core/model/resource.ts'
import { isSourceState, type SourceState } from '../../core/model/source-state.ts'
import type { BlobStore } from '../../core/ports.ts'
import { type GuardPolicy, type Judgement, judgeRead, sourceSubject } from '../../core/publish/judge-read.ts'
import type { SourceConfig } from '../config/config.ts'
import { sourceKeys } from './keys.ts'
import { encodeJson, readJson } from './objects.ts'
import { writePaged } from './paged.ts'
import { contentOf, readResult, type StoredResult, toResultObject } from './source-result.ts'

/** How reading a source went. `observedAt` is when the read began: what changed while it ran may not be in it. */
export type SourceRead = { readonly observedAt: number } & (
  | { readonly kind: 'read'; readonly reading: SnapshotReading; readonly discovery: Discovery }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'notAsked' }
)

/** What a source gives to this sync: what was read now, or its last good result, or nothing. */
export type SettledSource = {
  readonly name: string
  readonly result?: StoredResult & { readonly observedAt: number }
  readonly isFresh: boolean
  /** About the source itself. */
  readonly findings: readonly Finding[]
  /** What a person may approve. */
  readonly losses: readonly string[]
  readonly state: SourceState
}

/** What the registries bring to the guard. */
export type Guard = Pick<GuardPolicy, 'states' | 'approved' | 'isForced' | 'maxShrink'>

type Good = NonNullable<SourceState['good']>

const MOST_ATTEMPTS = 100
/** No read takes that long: a result that is further ahead was observed by a clock that has been set back since. */
const LONGEST_READ = 600_000

const selectionOf = ({ scope, gatewayApi }: SourceConfig): string =>
  digestOf(canonicalJson({ labelSelector: scope.labelSelector, gatewayApi }))

const judge = (
  source: SourceConfig,
  read: Extract<SourceRead, { kind: 'read' | 'failed' }>,
  good: Good | undefined,
  guard: Guard,
): Judgement => {
  if (read.kind === 'failed')
    return { kind: 'bad', problem: read.problem, findings: [], losses: [], isWithdrawn: () => false }
  const { reading, discovery } = read
  return judgeRead(
    {
      snapshot: reading.snapshot,
      candidates: discovery.candidates,
      findings: [...reading.findings, ...discovery.findings],
    },
    {
      ...guard,
      gatewayApi: source.gatewayApi,
      listedBefore: good?.kinds ?? [],
      isAskedTheSame: good === undefined || good.selection === selectionOf(source),
    },
  )
}

const staleness = (source: string, good: Good | undefined, problem: string): Finding =>
  good === undefined
    ? findingOf(sourceSubject(source), { code: 'SourceFailed', problem })
    : findingOf(sourceSubject(source), { code: 'SourceStale', problem, observedAt: good.observedAt })

const readGood = async (
  store: BlobStore,
  source: string,
  good: Good | undefined,
): Promise<Pick<SettledSource, 'result'>> =>
  good === undefined
    ? {}
    : {
        result: { ...(await readResult(store, source, good.hash)), observedAt: Date.parse(good.observedAt) },
      }

/** The last good result without those whose owners were seen to say no: they must not come back by the next failure. */
const amend = async (
  store: BlobStore,
  source: string,
  good: Good,
  isWithdrawn: (ref: ResourceRef) => boolean,
): Promise<Good> => {
  const result = await readResult(store, source, good.hash)
  const candidates = result.candidates.filter(({ ref }) => !isWithdrawn(ref))
  if (candidates.length === result.candidates.length) return good
  const paged = toResultObject({ ...result, candidates })
  await writePaged(store, sourceKeys(source).result, paged, good.hash)
  return { ...good, hash: paged.digest, servers: candidates.length }
}

const settleOnce = async (
  store: BlobStore,
  source: SourceConfig,
  read: SourceRead,
  guard: Guard,
  before: SourceState | undefined,
): Promise<SettledSource> => {
  const { name } = source
  const good = before?.good
  const calm = { name, isFresh: true, findings: [], losses: [] }
  const lastAttempt = timeOf(read.observedAt)
  if (read.kind === 'notAsked') {
    const state = before ?? { lastAttempt, attempts: 0 }
    const isFresh = good !== undefined && state.attempts === 0
    const findings = isFresh ? [] : [staleness(name, good, state.problem ?? 'this sync did not ask for it')]
    return { ...calm, isFresh, findings, state, ...(await readGood(store, name, good)) }
  }
  const judgement = judge(source, read, good, guard)
  if (judgement.kind === 'bad') {
    const { problem, losses } = judgement
    const isCounted = before?.lastAttempt === lastAttempt && before.problem === problem
    const attempts = (before?.attempts ?? 0) + (isCounted ? 0 : 1)
    const left = good && (await amend(store, name, good, judgement.isWithdrawn))
    return {
      name,
      isFresh: false,
      findings: [...judgement.findings, staleness(name, good, problem)],
      losses,
      state: { ...(left && { good: left }), lastAttempt, attempts, problem },
      ...(await readGood(store, name, left)),
    }
  }
  const ahead = good === undefined ? 0 : Date.parse(good.observedAt) - read.observedAt
  // Somebody looked later than we did: what was removed by then must not come back through us.
  if (before !== undefined && ahead > 0 && ahead <= LONGEST_READ)
    return { ...calm, state: before, ...(await readGood(store, name, good)) }
  const result = { candidates: judgement.candidates, findings: judgement.findings }
  const observedAt = read.observedAt + (ahead > 0 ? ahead + 1 : 0)
  const paged = toResultObject(result)
  await writePaged(store, sourceKeys(name).result, paged, good?.hash)
  const found: Good = {
    observedAt: timeOf(observedAt),
    hash: paged.digest,
    kinds: judgement.kinds,
    selection: selectionOf(source),
    servers: result.candidates.length,
  }
  return {
    ...calm,
    result: { ...result, hash: paged.digest, content: contentOf(paged), observedAt },
    state: { good: found, lastAttempt, attempts: 0 },
  }
}

/** Decides what a source gives, and records it. Of two syncs that read at the same time the later observation stays. */
export const settleSource = async (
  store: BlobStore,
  source: SourceConfig,
  read: SourceRead,
  guard: Guard,
): Promise<SettledSource> => {
  const key = sourceKeys(source.name).state
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const before = await readJson(store, key, isSourceState)
    const settled = await settleOnce(store, source, read, guard, before?.value)
    if (settled.state === before?.value) return settled
    const expected = before === undefined ? 'absent' : { etag: before.etag }
    const written = await store.write(key, encodeJson(settled.state), expected)
    if (written.kind === 'written') return settled
  }
  throw new OperationError(
    'TooManySyncs',
    `Source ${source.name} was changed by other syncs ${MOST_ATTEMPTS} times in a row. Run fewer syncs at once, and try again.`,
  )
}
