import { setTimeout as sleep } from 'node:timers/promises'
import type { ObjectKind, Unlisted } from '../../core/model/snapshot.ts'
import type { ClusterQuestion, ClusterWatch } from '../../core/ports.ts'
import { networkFailure } from './cluster-failure.ts'
import { discoverKinds, type ServedKind } from './discover-kinds.ts'
import { createHolding } from './holding.ts'
import { stagesOf } from './kinds.ts'
import { createKubeApi } from './kube-api.ts'
import type { Connection } from './kube-fetch.ts'
import { deny, type Learned, toReading } from './read-cluster.ts'
import { type Stream, watchKind } from './watch-kind.ts'

/** How often somebody looks whether kinds were installed or removed. */
const RECHECK_MS = 30_000

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
): ClusterWatch => {
  const kinds = stagesOf(question.gatewayApi).flat()
  const { namespaces } = question.scope
  let streams: readonly Stream[] = []
  let missing: readonly ObjectKind[] = []

  const start = (served: readonly ServedKind[], until: AbortSignal): Promise<unknown> => {
    streams = served.flatMap((kind) => {
      const places = namespaces.length === 0 ? [''] : kind.isNamespaced ? namespaces : []
      return places.map((namespace): Stream => {
        return { served: kind, namespace, state: 'down', holding: createHolding(question.source, kind) }
      })
    })
    const around = {
      connection,
      api: createKubeApi(connection, until),
      source: question.source,
      signal: until,
      wait: (milliseconds: number) => wait(milliseconds, until),
      onChange,
      onProblem,
    }
    return Promise.all(streams.map((stream) => watchKind(stream, around)))
  }

  const run = async (): Promise<void> => {
    let known: string | undefined
    let stop = new AbortController()
    while (!signal.aborted) {
      try {
        const served = await discoverKinds(createKubeApi(connection, signal), kinds)
        const key = keyOf(served.values())
        if (key !== known) {
          stop.abort()
          stop = new AbortController()
          known = key
          missing = kinds.filter((kind) => !served.has(kind)).map(({ kind }) => kind)
          void start([...served.values()], AbortSignal.any([signal, stop.signal]))
          onChange()
        }
      } catch (thrown) {
        if (!signal.aborted && known === undefined) onProblem(networkFailure(connection.server, thrown).message)
      }
      await wait(known === undefined ? RECHECK_MS / 10 : RECHECK_MS, signal)
    }
  }
  void run()

  return {
    reading: () => {
      // What routes lead to outside the namespaces is not watched, so it is read anew.
      if (namespaces.length > 0 || streams.length === 0 || streams.some(({ state }) => state === 'down'))
        return undefined
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
