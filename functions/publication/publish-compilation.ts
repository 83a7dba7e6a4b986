import { digestOf } from '../../core/model/digest.ts'
import type { BlobStore } from '../../core/ports.ts'
import type { Compilation } from '../compile.ts'
import type { Config } from '../config/config.ts'
import { publishRegistry } from './publish-registry.ts'
import { writeIndex } from './write-index.ts'

/** Puts what was compiled into a store of its own, to be served from there: no guard, no memory, no other writer. */
export const publishCompilation = async (
  store: BlobStore,
  config: Config,
  { registries, findings }: Compilation,
  now: number,
): Promise<void> => {
  await writeIndex(store, config)
  for (const { name } of config.registries.filter(({ hasClaims }) => !hasClaims)) {
    const compiled = registries.find(({ document }) => document.registry === name)
    if (compiled === undefined) continue
    const publishing = {
      registry: name,
      compiled,
      input: digestOf(compiled.document.digest),
      sources: {},
      before: undefined,
      approvedLosses: [],
      now,
      keep: 1,
      tombstones: config.publish.tombstones,
      pendingGrace: config.discovery.pendingGrace,
    }
    await publishRegistry(store, publishing, findings)
  }
}
