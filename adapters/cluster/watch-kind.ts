import { isDeepStrictEqual } from 'node:util'
import { isMap } from '../../core/model/is-map.ts'
import { networkFailure } from './cluster-failure.ts'
import type { ServedKind } from './discover-kinds.ts'
import { createHolding, type Holding } from './holding.ts'
import type { KubeApi } from './kube-api.ts'
import type { Connection } from './kube-fetch.ts'
import { listKind, pathOf } from './list-kind.ts'

/** How one list is at the moment. `down`: what is held may be behind. */
export type Stream = {
  readonly served: ServedKind
  readonly namespace: string
  state: 'down' | 'live' | 'denied'
  holding: Holding
}

type Surroundings = {
  readonly connection: Connection
  readonly api: KubeApi
  readonly source: string
  readonly signal: AbortSignal
  readonly wait: (milliseconds: number) => Promise<void>
  readonly onChange: () => void
  readonly onProblem: (text: string) => void
}

/** The server ends a watch after this; a connection that died silently is noticed soon after. */
const WATCH_SECONDS = 240
const GRACE_MS = 20_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000

/** The events of a watch, a line each. */
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

/** Follows one watch from a version on. Gives the version to go on from, or `expired`. */
const follow = async (stream: Stream, from: string, around: Surroundings): Promise<string | 'expired' | 'denied'> => {
  const { connection, signal, onChange } = around
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${from}&timeoutSeconds=${WATCH_SECONDS}`
  const response = await connection.fetch(`${pathOf(stream.served, stream.namespace)}?${query}`, {
    headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(WATCH_SECONDS * 1_000 + GRACE_MS)]),
  })
  if (response.status !== 200) {
    await response.arrayBuffer()
    if (response.status === 410) return 'expired'
    if (response.status === 403) return 'denied'
    throw new Error(`a watch was answered with ${response.status}`)
  }
  let version = from
  stream.state = 'live'
  for await (const { type, object } of eventsOf(response)) {
    if (type === 'ERROR') return 'expired'
    version = versionOf(object) ?? version
    if (type !== 'BOOKMARK' && takeEvent(stream.holding, type, object)) onChange()
  }
  return version
}

const problemOf = ({ served, namespace }: Stream): string =>
  `It may not watch ${served.resource}${namespace === '' ? '' : ` in namespace ${namespace}`}, so changes are seen only when all is listed again. Add to its role: { apiGroups: ["${served.group}"], resources: ["${served.resource}"], verbs: ["get", "list", "watch"] }.`

/** Lists, then follows what changes, for ever: what a broken connection or an expired version lost is listed again. */
export const watchKind = async (stream: Stream, around: Surroundings): Promise<void> => {
  const { api, source, signal, wait, onChange, onProblem } = around
  let version = ''
  let failures = 0
  while (!signal.aborted) {
    try {
      if (version === '') {
        const holding = createHolding(source, stream.served)
        const listed = await listKind(api, stream.served, stream.namespace, holding.take, holding.clear)
        stream.holding = holding
        onChange()
        // Somebody may allow it later; until then it is as any denied kind.
        if (listed.kind === 'denied') {
          stream.state = 'denied'
          await wait(LONGEST_PAUSE_MS)
          continue
        }
        version = listed.resourceVersion
      }
      const next = await follow(stream, version, around)
      failures = 0
      version = next === 'expired' || next === 'denied' ? '' : next
      if (next === 'denied') {
        stream.state = 'down'
        onProblem(problemOf(stream))
        await wait(60_000)
      }
    } catch (thrown) {
      stream.state = 'down'
      if (signal.aborted) return
      failures++
      // Twice may be a server that restarts; then people should know.
      if (failures === 3) onProblem(networkFailure(api.server, thrown).message)
      // After a while nobody knows what was missed.
      if (failures > 3) version = ''
      await wait(Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures))
    }
  }
}
