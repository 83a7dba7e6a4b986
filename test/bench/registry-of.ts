import { openMemoryStore } from '../../adapters/store/memory.ts'
import { digestOf } from '../../core/model/digest.ts'
import { type Entry, OFFICIAL, type Server } from '../../core/model/entry.ts'
import type { BlobStore } from '../../core/ports.ts'
import { parseConfig } from '../../functions/config/config.ts'
import { keepingOf, publishRegistry } from '../../functions/publication/publish-registry.ts'
import { writeIndex } from '../../functions/publication/write-index.ts'

const parsed = parseConfig('')
if (parsed.kind === 'bad') throw new Error('the default configuration is valid')
const { config } = parsed
const AT = Date.parse('2026-01-01T00:00:00Z')

const entryOf = (index: number): Entry => {
  const name = `dev.stacklok.toolhive/team-${String(index % 200).padStart(3, '0')}.server-${index}`
  const server: Server = {
    name,
    title: `Server ${index}`,
    description: `Does what server number ${index} does: search, read and write tickets`,
    version: '1.0.0',
    remotes: [{ type: 'streamable-http', url: `https://mcp-${index % 97}.example.com/servers/${index}` }],
  }
  const time = new Date(AT).toISOString()
  const times = { publishedAt: time, updatedAt: time, statusChangedAt: time }
  const official = { status: 'active', isLatest: true, ...times }
  const json = `{"_meta":${JSON.stringify({ [OFFICIAL]: official })},"server":${JSON.stringify(server)}}`
  return { name, version: '1.0.0', status: 'active', isLatest: true, publishedAt: AT, updatedAt: AT, server, json }
}

/** A published registry of so many entries, without the sync that would have made it. */
export const registryOf = async (count: number): Promise<BlobStore> => {
  const entries = Array.from({ length: count }, (_, index) => entryOf(index)).sort((a, b) => (a.name < b.name ? -1 : 1))
  const store = openMemoryStore()
  const compiled = {
    state: { at: AT, entries: [] },
    document: { registry: 'default', entries, digest: digestOf(String(count)) },
    findings: [],
  }
  const [registry] = config.registries
  const folded = { registry, compiled, input: digestOf(''), sources: {}, approvedLosses: [], hasInput: true }
  await publishRegistry(store, folded, undefined, [], AT, keepingOf(config))
  await writeIndex(store, config, AT, AT)
  return store
}
