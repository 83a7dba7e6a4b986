import { isMap } from '../../core/model/is-map.ts'
import { clusterError } from './cluster-failure.ts'
import type { KindToRead } from './kinds.ts'
import type { KubeApi } from './kube-api.ts'

/** Where a kind is served: `/apis/{group}/{version}`, and what its objects are called there. */
export type ServedKind = KindToRead & { readonly root: string; readonly version: string; readonly resource: string }

const unclear = (api: KubeApi, what: string) =>
  clusterError(api.server, {
    code: 'ClusterDiscoveryFailed',
    cause: `discovery does not say ${what}`,
    fix: 'Check that this user may read /apis, as system:discovery allows',
  })

const ask = async (
  api: KubeApi,
  path: string,
  kind: string,
  field: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> => {
  const answer = await api.get(path)
  const list = answer.kind === 'ok' && answer.value.kind === kind ? answer.value[field] : undefined
  // A discovery that does not answer is a failure: nothing may be called not installed by it.
  if (!Array.isArray(list))
    throw unclear(api, `what there is at ${path}${answer.kind === 'ok' ? '' : `: ${answer.message}`}`)
  return list.filter(isMap)
}

/** While a CRD is uninstalled its objects go one by one, and discovery says that no new ones are taken. */
const isGoing = ({ verbs }: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(verbs) && !verbs.includes('create')

/**
 * Which kinds are served, and where. A kind is not installed only where discovery answered and does not have it, or has
 * it for the last time.
 */
export const discoverKinds = async (
  api: KubeApi,
  kinds: readonly KindToRead[],
): Promise<ReadonlyMap<KindToRead, ServedKind>> => {
  const served = new Map<KindToRead, ServedKind>()
  for (const kind of kinds)
    if (kind.resource !== undefined)
      served.set(kind, { ...kind, root: '/api/v1', version: 'v1', resource: kind.resource })
  const groups = await ask(api, '/apis', 'APIGroupList', 'groups')
  for (const [group, wanted] of Map.groupBy(kinds, (kind) => kind.group)) {
    const found = groups.find(({ name }) => name === group)
    if (group === '' || found === undefined) continue
    if (!Array.isArray(found.versions)) throw unclear(api, `which versions of ${group} it serves`)
    const offered = found.versions.filter(isMap).map(({ version }) => String(version))
    const known = wanted[0]?.versions ?? []
    const order = [
      ...known.filter((version) => offered.includes(version)),
      ...offered.filter((version) => !known.includes(version)),
    ]
    for (const version of order) {
      const missing = wanted.filter((kind) => !served.has(kind))
      if (missing.length === 0) break
      const root = `/apis/${group}/${version}`
      const resources = await ask(api, root, 'APIResourceList', 'resources')
      for (const kind of missing) {
        const own = resources.find((each) => each.kind === kind.kind && !String(each.name).includes('/'))
        if (own !== undefined && !isGoing(own)) served.set(kind, { ...kind, root, version, resource: String(own.name) })
      }
    }
  }
  return served
}
