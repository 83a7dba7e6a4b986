import { isDeepStrictEqual } from 'node:util'
import { during } from '../../core/model/during.ts'
import { isMap } from '../../core/model/is-map.ts'
import type { OperationError } from '../../core/model/operation-error.ts'
import { clusterError, networkFailure } from './cluster-failure.ts'
import type { ServedKind } from './discover-kinds.ts'
import { createHolding, type Holding } from './holding.ts'
import { createKubeApi } from './kube-api.ts'
import type { Connection } from './kube-fetch.ts'
import { listKind, pathOf } from './list-kind.ts'

/** How one list is at the moment. `down`: what is held may be behind. */
export type Stream = {
  readonly served: ServedKind
  readonly namespace: string
  state: 'down' | 'live' | 'denied'
  holding: Holding
  /** What is held is as of this version; empty where all is to be listed first. */
  version: string
  liveSince: number
  /** Was it said that this may not be watched? */
  isTold: boolean
}

type Surroundings = {
  readonly connection: Connection
  readonly source: string
  readonly signal: AbortSignal
  readonly wait: (milliseconds: number) => Promise<void>
  readonly onChange: () => void
  readonly onLive: () => void
  readonly onProblem: (text: string) => void
}

/** The server ends a watch after this; a connection that died silently is noticed soon after. */
const WATCH_SECONDS = 240
const GRACE_MS = 20_000
/** The server answers at once, and then sends events. Who is not answered would watch nothing. */
const OPEN_MS = 15_000
/** Bookmarks come every minute: a connection that says nothing for longer died silently. */
const SILENCE_MS = 90_000
/** A watch that ended sooner is not simply over: who asks again at once would ask without end. */
const STEADY_MS = 5_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** Where it may not watch it lists, as often as that. */
const POLL_MS = 60_000

export const streamOf = (source: string, served: ServedKind, namespace: string): Stream => ({
  served,
  namespace,
  state: 'down',
  holding: createHolding(source, served),
  version: '',
  liveSince: 0,
  isTold: false,
})

/** The events of a watch, a line each. A line that was cut off is no event: the next watch brings it again. */
async function* eventsOf(response: Response): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body ?? []) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const event: unknown = line === '' ? undefined : JSON.parse(line)
      if (isMap(event)) yield event
    }
  }
}

const versionOf = (object: unknown): string | undefined =>
  isMap(object) && isMap(object.metadata) ? String(object.metadata.resourceVersion ?? '') || undefined : undefined

/** Takes an event in. Does it say anything new about what we keep? Most do not: a status is touched all the time. */
const takeEvent = (holding: Holding, type: unknown, object: unknown): boolean => {
  const before = holding.find(object)
  if (type === 'DELETED') {
    holding.drop(object)
    return before !== undefined
  }
  return !isDeepStrictEqual(before, holding.take(object))
}

const refusal = (server: string, status: number): OperationError =>
  status === 401
    ? clusterError(server, {
        code: 'ClusterUnauthorized',
        cause: 'it does not accept the credentials',
        fix: 'Renew them, or choose another context',
      })
    : clusterError(server, {
        code: 'ClusterBusy',
        cause: `it answers a watch with ${status}`,
        fix: 'See the logs of the API server',
      })

/** Lists all of it anew. */
const list = async (stream: Stream, { connection, source, onChange }: Surroundings, signal: AbortSignal) => {
  const holding = createHolding(source, stream.served)
  const api = createKubeApi(connection, signal)
  const listed = await listKind(api, stream.served, stream.namespace, holding.take, holding.clear)
  const isNews = listed.kind === 'listed' || stream.state !== 'denied'
  stream.holding = holding
  stream.state = listed.kind === 'denied' ? 'denied' : 'down'
  stream.version = listed.kind === 'denied' ? '' : listed.resourceVersion
  if (isNews) onChange()
}

/** Follows one watch to its end. Every event moves `version` on, so that the next one neither misses nor repeats any. */
const follow = async (
  stream: Stream,
  { connection, onChange, onLive }: Surroundings,
  signal: AbortSignal,
): Promise<'over' | 'denied'> => {
  // Not all at the same moment.
  const seconds = WATCH_SECONDS + Math.floor(Math.random() * 60)
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${stream.version}&timeoutSeconds=${seconds}`
  const silence = new AbortController()
  const giveUp = (): void => silence.abort(new DOMException('', 'TimeoutError'))
  const opening = setTimeout(giveUp, OPEN_MS)
  const ends = [signal, silence.signal, AbortSignal.timeout(seconds * 1_000 + GRACE_MS)]
  const response = await connection
    .fetch(`${pathOf(stream.served, stream.namespace)}?${query}`, {
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
      signal: AbortSignal.any(ends),
    })
    .finally(() => clearTimeout(opening))
  if (response.status !== 200) {
    await response.arrayBuffer()
    if (response.status === 403) return 'denied'
    if (response.status !== 410) throw refusal(connection.server, response.status)
    stream.version = ''
    return 'over'
  }
  stream.state = 'live'
  stream.liveSince = performance.now()
  onLive()
  const silent = setTimeout(giveUp, SILENCE_MS)
  try {
    for await (const { type, object } of eventsOf(response)) {
      silent.refresh()
      if (type === 'ERROR') {
        // Nearly always 410, the version is too old. Whatever it is, a list puts it right.
        stream.version = ''
        break
      }
      const isNews = type !== 'BOOKMARK' && takeEvent(stream.holding, type, object)
      stream.version = versionOf(object) ?? stream.version
      if (isNews) onChange()
    }
  } finally {
    clearTimeout(silent)
  }
  return 'over'
}

const problemOf = ({ served, namespace }: Stream): string =>
  `It may not watch ${served.resource}${namespace === '' ? '' : ` in namespace ${namespace}`}, so changes are seen only when all is listed again. Add to its role: { apiGroups: ["${served.group}"], resources: ["${served.resource}"], verbs: ["get", "list", "watch"] }.`

/** One time around: lists if need be, then follows. Gives how long to wait before the next. */
const pass = async (stream: Stream, around: Surroundings, signal: AbortSignal): Promise<number> => {
  if (stream.version === '') await list(stream, around, signal)
  // Somebody may allow it later; until then it is as any denied kind.
  if (stream.state === 'denied') return LONGEST_PAUSE_MS
  if ((await follow(stream, around, signal)) === 'over') return 0
  if (!stream.isTold) around.onProblem(problemOf(stream))
  stream.isTold = true
  stream.version = ''
  return POLL_MS
}

/** Lists, then follows what changes, until the signal: what an expired version lost is listed again. */
export const watchKind = async (stream: Stream, around: Surroundings): Promise<void> => {
  const { connection, signal, wait, onProblem } = around
  let failures = 0
  while (!signal.aborted) {
    let pause = 0
    try {
      pause = await during(signal, (own) => pass(stream, around, own))
    } catch (thrown) {
      if (signal.aborted) return
      // Twice may be a server that restarts; then people should know.
      if (failures === 2) onProblem(networkFailure(connection.server, thrown).message)
      // A server that was restored from a backup may never come to the version that we have.
      if (failures > 2) stream.version = ''
    }
    const isSteady = stream.state === 'live' && performance.now() - stream.liveSince > STEADY_MS
    if (stream.state === 'live') stream.state = 'down'
    failures = isSteady || pause > 0 ? 0 : failures + 1
    const again = failures === 0 ? 0 : Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
    await wait(Math.max(pause, again))
  }
}
