import type { CandidateRemote } from '../model/candidate.ts'
import { DEFAULT_PORTS, type Remote } from '../model/entry.ts'
import { compareBy, compareText } from '../model/order.ts'
import { withoutOutshone } from '../model/outshone.ts'

const rank = (isFirst: boolean): number => (isFirst ? 0 : 1)
const depth = (path: string): number => path.split('/').filter((part) => part !== '').length

/** What clients take first should be the best: they look at `remotes[0]`. A remote of the resource's own has no origin. */
const preference = compareBy<CandidateRemote>(
  (a, b) => rank(a.origin?.scheme !== 'http') - rank(b.origin?.scheme !== 'http'),
  (a, b) => rank(a.origin?.hostSource !== 'address') - rank(b.origin?.hostSource !== 'address'),
  (a, b) =>
    rank(a.origin === undefined || a.origin.port === DEFAULT_PORTS[a.origin.scheme]) -
    rank(b.origin === undefined || b.origin.port === DEFAULT_PORTS[b.origin.scheme]),
  (a, b) => depth(a.origin?.path ?? '') - depth(b.origin?.path ?? ''),
  (a, b) => (a.origin?.path.length ?? 0) - (b.origin?.path.length ?? 0),
  (a, b) => compareText(a.url, b.url),
)

/** The remotes that are published: each URL once, and http only where no https leads to the same host and path. */
export const selectRemotes = <T extends CandidateRemote>(remotes: readonly T[]): readonly T[] => {
  if (remotes.length < 2) return remotes
  const urls = new Set<string>()
  return withoutOutshone(remotes, ({ origin }) => origin)
    .toSorted(preference)
    .filter(({ url }) => {
      const isNew = !urls.has(url)
      urls.add(url)
      return isNew
    })
}

/** As server.json has it: without where it comes from. */
export const bareRemote = ({ type, url, headers }: CandidateRemote): Remote => ({
  type,
  url,
  ...(headers !== undefined && { headers }),
})
