import { setTimeout as sleep } from 'node:timers/promises'
import { during } from '../../core/model/during.ts'
import type { ObjectKind, Unlisted } from '../../core/model/snapshot.ts'
import type { ClusterQuestion, ClusterWatch } from '../../core/ports.ts'
import { networkFailure } from './cluster-failure.ts'
import { discoverKinds, type ServedKind } from './discover-kinds.ts'
import { stagesOf } from './kinds.ts'
import { createKubeApi, type KubeLimits, LIMITS } from './kube-api.ts'
import type { Connection } from './kube-fetch.ts'
import { deny, type Learned, toReading } from './read-cluster.ts'
import { type Stream, streamOf, watchKind } from './watch-kind.ts'

/** How often somebody looks whether kinds were installed or removed. */
export const RECHECK_MS = 30_000
const FIRST_PAUSE_MS = 3_000
/** Who has a copy soon knows whether it can still be trusted. */
const IMPATIENT: KubeLimits = { requestMs: 3_000, attempts: 2, firstPauseMs: 200, longestPauseMs: 1_000 }

const keyOf = (served: Iterable<ServedKind>): string =>
  [...served].map(({ root, resource }) => `${root}/${resource}`).join(' ')

const wait = async (milliseconds: number, signal: AbortSignal): Promise<void> => {
  try {
    await sleep(milliseconds, undefined, { signal, ref: false })
  } catch {
    // Woken up to stop.
  }
}

/** Keeps a copy of what a source reads. In a source with `namespaces` it only says that something has changed. */
export const watchCluster = (
  connection: Connection,
  question: ClusterQuestion,
  signal: AbortSignal,
  onChange: () => void,
  onProblem: (text: string) => void,
  recheckMs = RECHECK_MS,
): ClusterWatch => {
  const kinds = stagesOf(question.gatewayApi).flat()
  const { namespaces } = question.scope
  let streams: readonly Stream[] = []
  let missing: readonly ObjectKind[] = []
  let known: string | undefined
  let stop = new AbortController()
  /** Every list meets the same outage: it is said once, until one of them is back. */
  const said = new Set<string>()

  const say = (text: string): void => {
    if (!said.has(text)) onProblem(text)
    said.add(text)
  }

  const start = (served: readonly ServedKind[], until: AbortSignal): void => {
    streams = served.flatMap((kind) => {
      const places = namespaces.length === 0 ? [''] : kind.isNamespaced ? namespaces : []
      return places.map((namespace) => streamOf(question.source, kind, namespace))
    })
    const around = {
      connection,
      source: question.source,
      signal: until,
      wait: (milliseconds: number) => wait(milliseconds, until),
      onChange,
      onLive: () => said.clear(),
      onProblem: say,
    }
    for (const stream of streams) void watchKind(stream, around)
  }

  /** Asks which kinds there are, and starts anew where they are others than before. */
  const look = async (limits = LIMITS): Promise<boolean> => {
    const served = await during(signal, (own) => discoverKinds(createKubeApi(connection, own, limits), kinds))
    const key = keyOf(served.values())
    if (key === known) return true
    stop.abort()
    stop = new AbortController()
    known = key
    missing = kinds.filter((kind) => !served.has(kind)).map(({ kind }) => kind)
    start([...served.values()], AbortSignal.any([signal, stop.signal]))
    onChange()
    return false
  }

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await look()
      } catch (thrown) {
        if (!signal.aborted && known === undefined) say(networkFailure(connection.server, thrown).message)
      }
      await wait(known === undefined ? Math.min(FIRST_PAUSE_MS, recheckMs) : recheckMs, signal)
    }
  }
  void run()

  const isWhole = (): boolean => streams.length > 0 && streams.every(({ state }) => state !== 'down')

  return {
    reading: async () => {
      // What routes lead to outside the namespaces is not watched, so it is read anew.
      if (namespaces.length > 0 || !isWhole()) return undefined
      // Who uninstalls a kind deletes its objects first: their end is not news of them, but of the kind.
      if (!(await look(IMPATIENT)) || !isWhole()) return undefined
      const learned: Learned = {
        holdings: streams.map(({ holding }) => holding),
        unlisted: new Map<ObjectKind, Unlisted>(missing.map((kind) => [kind, 'notInstalled'])),
        denials: [],
      }
      for (const { served, namespace, state } of streams)
        if (state === 'denied') deny(learned, served, 'list', namespace)
      return toReading(question, learned)
    },
  }
}
