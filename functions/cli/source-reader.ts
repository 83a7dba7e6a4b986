import type { ReadAs } from '../../core/model/snapshot.ts'
import type { Cluster } from '../../core/ports.ts'
import { readSource } from '../compile.ts'
import { type Config, questionOf, type SourceConfig } from '../config/config.ts'
import type { ReadSource } from '../publication/read-sources.ts'
import type { Tell } from '../tell-owners.ts'
import type { World } from './world.ts'

/** Opens the cluster of a source; sources of one cluster share it. */
export const clusterOpener = (world: World): ((source: SourceConfig) => Promise<Cluster>) => {
  const opened = new Map<string, Promise<Cluster>>()
  return ({ access }) => {
    const key = JSON.stringify([access.kubeconfig, access.context])
    const known = opened.get(key) ?? world.openCluster(access)
    opened.set(key, known)
    return known
  }
}

/** Reads a source from its cluster, or from manifests, which stand in for every cluster and are read once. */
export const sourceReader = (
  from: string | undefined,
  readAs: ReadAs,
  world: World,
  open = clusterOpener(world),
): ReadSource => {
  if (from === undefined) {
    return async (source) => (await open(source)).read(questionOf(source))
  }
  let manifests: ReturnType<World['readManifests']> | undefined
  return async (source) => {
    manifests ??= world.readManifests(from)
    return readSource(source, await manifests, readAs)
  }
}

/** Tells the owners of a source in its own cluster. */
export const tellerOf =
  ({ sources }: Config, open: (source: SourceConfig) => Promise<Cluster>): Tell =>
  async (name, events) => {
    const source = sources.find((each) => each.name === name)
    return source === undefined ? { told: new Set() } : (await open(source)).tell(events)
  }
