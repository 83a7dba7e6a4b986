import type { Bytes } from '../model/bytes.ts'
import type { Entry, RegistryDocument } from '../model/entry.ts'

/** A registry ready to be sent: every answer is bytes that were prepared before the first request. */
export type ServedRegistry = {
  readonly name: string
  readonly list: Bytes
  /** All active versions of a server. */
  readonly versions: (server: string) => Bytes | undefined
  /** One version of a server, or `latest`. */
  readonly version: (server: string, version: string) => Bytes | undefined
}

const encode = (json: string): Bytes => new TextEncoder().encode(json)

const listOf = (entries: readonly Entry[]): Bytes =>
  encode(`{"metadata":{"count":${entries.length}},"servers":[${entries.map(({ json }) => json).join(',')}]}`)

export const serveDocument = ({ registry, entries }: RegistryDocument): ServedRegistry => {
  const active = entries.filter(({ status }) => status === 'active')
  const versions = new Map([...Map.groupBy(active, ({ name }) => name)].map(([name, ofName]) => [name, listOf(ofName)]))
  const byVersion = new Map<string, Bytes>()
  for (const { name, version, isLatest, json } of active) {
    const bytes = encode(json)
    byVersion.set(`${name} ${version}`, bytes)
    if (isLatest) byVersion.set(`${name} latest`, bytes)
  }
  return {
    name: registry,
    list: listOf(active),
    versions: (server) => versions.get(server),
    version: (server, version) => byVersion.get(`${server} ${version}`),
  }
}
