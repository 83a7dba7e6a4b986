export const SERVER_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
export const PUBLISHER_PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided'
export const OFFICIAL = 'io.modelcontextprotocol.registry/official'

/** Ports that a URL does not have to name. */
export const DEFAULT_PORTS = { https: 443, http: 80 } as const

export const TRANSPORTS = ['streamable-http', 'sse'] as const
export type Transport = (typeof TRANSPORTS)[number]

export type RemoteHeader = { readonly name: string; readonly isRequired: boolean; readonly isSecret: boolean }
export type Remote = { readonly type: Transport; readonly url: string; readonly headers?: readonly RemoteHeader[] }
export type Icon = { readonly src: string }

/** A server.json, as far as we write it ourselves. */
export type Server = {
  readonly $schema?: string
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly version: string
  readonly icons?: readonly Icon[]
  readonly remotes?: readonly Remote[]
  readonly _meta?: Readonly<Record<string, unknown>>
}

export type EntryStatus = 'active' | 'deleted'

/** One server version as served: `json` is exactly what the API sends for it. */
export type Entry = {
  readonly name: string
  readonly version: string
  readonly status: EntryStatus
  readonly isLatest: boolean
  readonly publishedAt: number
  readonly updatedAt: number
  readonly server: Server
  readonly json: string
}

/** All entries of one registry in three runs (latest, older, deleted), each by name, then version. */
export type RegistryDocument = {
  readonly registry: string
  readonly entries: readonly Entry[]
  readonly digest: string
}

// The schema allows one character on each side; the official registry wants both halves to start and end alphanumeric.
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]\/[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/

export const isServerName = (name: string): boolean => name.length <= 200 && NAME.test(name)

// A range may have its x only where a number could stand: 1.0.0-alpha.x is one version.
const NOT_ONE_VERSION = /^[\^~<>=]|\|\||[\s\p{Cc}\p{Cf}]|\*|^v?(\d+\.)*[xX](\.[xX\d]+)*$/u

/** A version is one version: `latest` and ranges would name another one tomorrow. */
export const isServerVersion = (version: string): boolean =>
  version !== '' && version.length <= 255 && version !== 'latest' && !NOT_ONE_VERSION.test(version)

export const MAX_TEXT = 100

/** Lengths in server.json count code points. */
export const lengthOf = (text: string): number => {
  let length = 0
  for (const _ of text) length++
  return length
}

export const isHttpsUrl = (text: string): boolean => {
  const url = /^https:\/\/\S+$/.test(text) ? URL.parse(text) : null
  return url !== null && url.username === '' && url.password === ''
}
