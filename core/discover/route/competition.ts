import type { HttpRoute } from '../../model/gateway.ts'
import { compareBy, compareText } from '../../model/order.ts'
import { patternsOf } from './hostnames.ts'
import { fullNameOf, nameOf } from './landscape.ts'
import type { Attachment } from './listeners.ts'
import { createPathTable, type PathTable } from './path-table.ts'

/** Which of all routes on a listener answers a plain request for a host and a path. */
export type Competition = (attachment: Attachment, host: string, path: string, method: string) => HttpRoute | undefined

/** Older routes come first, then by name; one without a date was there before dates were kept. */
export const routeOrder = compareBy<HttpRoute>(
  (a, b) => (a.meta.createdAt ?? Number.NEGATIVE_INFINITY) - (b.meta.createdAt ?? Number.NEGATIVE_INFINITY) || 0,
  (a, b) => compareText(nameOf(a), nameOf(b)),
)

const listenerKey = ({ parent, listener }: Attachment): string => `${fullNameOf(parent.owner)} ${listener.name}`

/** Every route that is attached takes part, exported or not, by hostname first and then by path: looked up, never compared in pairs. */
export const holdCompetition = (
  attached: readonly { readonly route: HttpRoute; readonly attachments: readonly Attachment[] }[],
): Competition => {
  const listeners = new Map<string, Map<string, PathTable<HttpRoute>>>()
  for (const { route, attachments } of attached) {
    for (const attachment of attachments) {
      const key = listenerKey(attachment)
      const hosts = listeners.get(key) ?? new Map<string, PathTable<HttpRoute>>()
      listeners.set(key, hosts)
      for (const { own } of attachment.hosts) {
        const table = hosts.get(own) ?? createPathTable<HttpRoute>((a, b) => routeOrder(a, b) < 0)
        hosts.set(own, table)
        for (const match of route.rules.flatMap(({ matches }) => matches)) table.add(match, route)
      }
    }
  }
  return (attachment, host, path, method) => {
    const hosts = listeners.get(listenerKey(attachment))
    for (const pattern of patternsOf(host)) {
      const winner = hosts?.get(pattern)?.winner(path, method)
      if (winner !== undefined) return winner
    }
    return undefined
  }
}
