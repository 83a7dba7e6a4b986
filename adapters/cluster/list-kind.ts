import { isMap } from '../../core/model/is-map.ts'
import { clusterError } from './cluster-failure.ts'
import type { ServedKind } from './discover-kinds.ts'
import type { KubeApi } from './kube-api.ts'

export type Listed =
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  | { readonly kind: 'denied'; readonly message: string }

const PAGE = 500
/** A cluster that forgets faster than it can be paged is asked for all at once. */
const MOST_RESTARTS = 3

export const pathOf = ({ root, resource }: ServedKind, namespace: string): string =>
  namespace === '' ? `${root}/${resource}` : `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}`

type Page = { readonly items: readonly unknown[]; readonly next: string; readonly resourceVersion: string }

const readPage = (server: string, path: string, value: Readonly<Record<string, unknown>>): Page => {
  const { items, metadata } = value
  const { continue: next = '', resourceVersion = '' } = isMap(metadata) ? metadata : {}
  const isList = items === null || (Array.isArray(items) && items.every(isMap))
  if (!String(value.kind).endsWith('List') || !isList || typeof next !== 'string')
    throw clusterError(server, {
      code: 'ClusterAnswerUnreadable',
      cause: `what came back for ${path} is no list`,
      fix: 'Look for a proxy between here and there',
    })
  return { items: items ?? [], next, resourceVersion: String(resourceVersion) }
}

/**
 * All objects of a kind, to the last page; `restart` says that those given so far are void. A list that expired on the
 * way starts again, so that what is given is of one moment.
 */
export const listKind = async (
  api: KubeApi,
  kind: ServedKind,
  namespace: string,
  take: (item: unknown) => void,
  restart: () => void,
): Promise<Listed> => {
  const path = pathOf(kind, namespace)
  let restarts = 0
  let next = ''
  for (;;) {
    const limit = restarts > MOST_RESTARTS ? '' : `limit=${PAGE}`
    const query = [limit, next === '' ? '' : `continue=${encodeURIComponent(next)}`].filter((part) => part !== '')
    const answer = await api.get(query.length === 0 ? path : `${path}?${query.join('&')}`)
    if (answer.kind === 'denied') {
      // Also in the middle: the first pages are no list.
      restart()
      return { kind: 'denied', message: answer.message }
    }
    if (answer.kind === 'expired' && next !== '') {
      restarts++
      next = ''
      restart()
      continue
    }
    if (answer.kind !== 'ok')
      throw clusterError(api.server, {
        code: 'ClusterChanged',
        cause: `${kind.resource} could not be listed: ${answer.message}`,
        fix: 'Try again; discovery still names it',
      })
    const page = readPage(api.server, path, answer.value)
    for (const item of page.items) take(item)
    if (page.next === '') return { kind: 'listed', resourceVersion: page.resourceVersion }
    next = page.next
  }
}
