import { openMemoryStore } from '../adapters/store/memory.ts'
import { composeServer } from '../core/compile/compose-server.ts'
import { continueTimeline, type Listed } from '../core/compile/timeline.ts'
import { storedOrder, writeDocument } from '../core/compile/write-document.ts'
import type { Entry } from '../core/model/entry.ts'
import { createApi } from '../functions/api/api.ts'
import { keepingOf, publishRegistry, readRegistry } from '../functions/publication/publish-registry.ts'
import { createReader } from '../functions/publication/reader.ts'
import { writeIndex } from '../functions/publication/write-index.ts'
import { candidateOf } from './candidate.ts'
import { clockAt } from './clock.ts'
import { at, configOf } from './publishing.ts'

// A registry whose servers have several versions at once. No cluster gives that, so the fold begins after the names here:
// times, tombstones, `latest`, chunks and columns are the real ones.

export type Version = {
  readonly name: string
  readonly version: string
  readonly title?: string
  readonly description?: string
}

const listedOf = ({ name, version, title, description = 'A server' }: Version): Listed => {
  const candidate = candidateOf('a', { title, description, version })
  const { server, json } = composeServer(candidate, candidate.remotes, name, 'minimal')
  return { server, json, owner: candidate.ref, wantedName: name, remotes: candidate.remotes }
}

export const openListing = () => {
  const config = configOf('')
  const [registry] = config.registries
  if (registry === undefined) throw new Error('the default configuration has a registry')
  const store = openMemoryStore()
  let clock = at(0)

  /** Makes these the active versions, `minutes` after the beginning. Gives all entries, in no order that matters. */
  const publish = async (minutes: number, versions: readonly Version[]): Promise<readonly Entry[]> => {
    clock = at(minutes)
    const before = await readRegistry(store, registry.name)
    const timeline = continueTimeline(versions.map(listedOf), before?.state.entries ?? [], clock)
    const dated = [...timeline].sort((a, b) => storedOrder(a.state, b.state))
    const document = writeDocument(registry.name, dated)
    const state = { at: clock, entries: dated.map((each) => each.state) }
    const compiled = { state, document, findings: [] }
    const folded = { registry, compiled, input: document.digest, sources: {}, approvedLosses: [], hasInput: true }
    await publishRegistry(store, folded, before, [], clock, keepingOf(config))
    await writeIndex(store, config, clock, clock)
    return document.entries
  }
  const open = () =>
    createApi(
      createReader(
        store,
        clockAt(() => clock),
      ),
    )
  return { publish, open }
}
