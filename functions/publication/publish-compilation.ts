import type { BlobStore } from '../../core/ports.ts'
import type { Compilation } from '../compile.ts'
import type { Config } from '../config/config.ts'
import { keepingOf, publishRegistry } from './publish-registry.ts'
import { writeIndex } from './write-index.ts'

/** Puts what was compiled into a store of its own, to be served from there: no guard, no memory, no other writer. */
export const publishCompilation = async (
  store: BlobStore,
  config: Config,
  { registries, findings }: Compilation,
  now: number,
): Promise<void> => {
  for (const registry of config.registries.filter(({ hasClaims }) => !hasClaims)) {
    const compiled = registries.find(({ document }) => document.registry === registry.name)
    if (compiled === undefined) continue
    const input = compiled.document.digest
    const folded = { registry, compiled, input, sources: {}, approvedLosses: [], hasInput: true }
    await publishRegistry(store, folded, undefined, findings, now, keepingOf(config))
  }
  await writeIndex(store, config, now, now)
}
