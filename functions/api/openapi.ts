import { OFFICIAL, SERVER_SCHEMA, TRANSPORTS } from '../../core/model/entry.ts'

export type Schema = { readonly [keyword: string]: unknown }
export type Ref = { readonly $ref: string }
export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema
  readonly example?: string | number
}
export type ApiResponse = {
  readonly description: string
  readonly headers?: Readonly<Record<string, Ref>>
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}
export type Operation = {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly description: string
  readonly parameters?: readonly Ref[]
  readonly responses: Readonly<Record<string, ApiResponse | Ref>>
}
export type OpenApiDocument = {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string } & Schema
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>
  readonly components: {
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly headers: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, ApiResponse>>
    readonly schemas: Readonly<Record<string, Schema>>
  }
}

/** Every `code` of an error body, and the statuses that it comes with. */
export const ERROR_CODES = {
  ServerNotFound: [404],
  RegistryNotFound: [404],
  PathNotFound: [404],
  CursorInvalid: [400],
  CursorMismatch: [400],
  ParameterInvalid: [400, 422],
  ParameterRepeated: [400],
  PathInvalid: [400],
  UrlTooLong: [414],
  MethodNotAllowed: [405],
  ReadOnly: [501],
  StoreUnavailable: [503],
} as const satisfies Readonly<Record<string, readonly number[]>>
export type ErrorCode = keyof typeof ERROR_CODES

const codesOf = (status: number): string =>
  Object.entries<readonly number[]>(ERROR_CODES)
    .filter(([, statuses]) => statuses.includes(status))
    .map(([code]) => `\`${code}\``)
    .join(', ')

const ref = (kind: keyof OpenApiDocument['components'], name: string): Ref => ({ $ref: `#/components/${kind}/${name}` })
const schemaOf = (name: string): Ref => ref('schemas', name)
const headersOf = (...names: readonly string[]): Record<string, Ref> =>
  Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
const jsonOf = (schema: Schema) => ({ 'application/json': { schema } })

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const count = { type: 'integer', minimum: 0 }
const truth = { type: 'boolean' }
const listOf = (items: Schema): Schema => ({ type: 'array', items })
const object = (required: readonly string[], properties: Readonly<Record<string, Schema>>, more: Schema = {}) => ({
  type: 'object',
  required,
  properties,
  ...more,
})
const seconds = (since: string): Schema => ({ ...count, description: `Seconds since ${since}.` })
const STANDINGS = ['nothing', 'fresh', 'stale', 'store-away', 'corrupt']

const schemas: OpenApiDocument['components']['schemas'] = {
  ServerList: object(['servers', 'metadata'], {
    servers: listOf(schemaOf('ServerResponse')),
    metadata: schemaOf('Metadata'),
  }),
  Metadata: object(['count'], {
    count: { ...count, description: 'How many entries this page has.' },
    nextCursor: { ...text, description: 'Leads to the next page; absent on the last one.' },
  }),
  ServerResponse: object(['server', '_meta'], {
    server: schemaOf('Server'),
    _meta: object([OFFICIAL], { [OFFICIAL]: schemaOf('OfficialMeta') }),
  }),
  OfficialMeta: object(
    ['status', 'isLatest', 'publishedAt', 'updatedAt', 'statusChangedAt'],
    {
      status: { ...text, enum: ['active', 'deprecated', 'deleted'] },
      statusMessage: { ...text, maxLength: 500 },
      isLatest: truth,
      publishedAt: time,
      updatedAt: time,
      statusChangedAt: time,
    },
    { additionalProperties: false, description: 'What the registry itself knows of a version.' },
  ),
  Server: object(
    ['name', 'description', 'version'],
    {
      $schema: { ...text, format: 'uri' },
      name: { ...text, minLength: 3, maxLength: 200, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
      title: { ...text, minLength: 1, maxLength: 100 },
      description: { ...text, minLength: 1, maxLength: 100 },
      version: { ...text, minLength: 1, maxLength: 255 },
      remotes: listOf(object(['type', 'url'], { type: { ...text, enum: TRANSPORTS }, url: text })),
      _meta: { type: 'object' },
    },
    { description: `A server.json; ${SERVER_SCHEMA} has the fields that are not named here.` },
  ),
  Problem: object(['title', 'status', 'detail', 'error', 'code'], {
    title: { ...text, description: 'The name of the status.' },
    status: { type: 'integer' },
    detail: { ...text, description: 'What went wrong, in a sentence.' },
    error: { ...text, description: 'The same as `detail`.' },
    code: { ...text, enum: Object.keys(ERROR_CODES) },
  }),
  Registry: object(['name', 'status', 'served'], {
    name: text,
    status: { ...text, enum: STANDINGS, description: '`nothing` was never published.' },
    served: { ...truth, description: 'Whether it can be served now, however old.' },
    detail: text,
    servers: { ...count, description: 'How many servers are listed.' },
    sequence: { ...count, description: 'The number of the publication.' },
    published: seconds('that publication'),
    checked: seconds('the last word from the store'),
    synced: seconds('the last sync'),
  }),
  RegistryList: object(['registries'], { registries: listOf(schemaOf('Registry')) }),
  Source: object(['registry', 'name', 'fresh', 'servers', 'attempts'], {
    registry: text,
    name: text,
    fresh: { ...truth, description: 'Whether the last read of it was good.' },
    observedAt: { ...time, description: 'When the last good read began; absent where none was.' },
    servers: { ...count, description: 'How many servers that read gave.' },
    attempts: { ...count, description: 'Reads since then that failed or were refused.' },
  }),
  SourceList: object(['sources'], { sources: listOf(schemaOf('Source')) }),
  RegistryFile: object(['version', 'meta', 'data'], {
    $schema: text,
    version: text,
    meta: object(['last_updated'], { last_updated: time }),
    data: object(['servers'], { servers: listOf(schemaOf('Server')) }),
  }),
  Readiness: object(['status', 'registries'], {
    status: { ...text, enum: [...STANDINGS, 'private'], description: 'The worst of all registries.' },
    detail: text,
    registries: listOf(schemaOf('Registry')),
  }),
  Health: object(['status'], { status: { const: 'healthy' } }),
  Version: object(['version'], { version: text }),
}

const inPath = (name: string, description: string, example: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: text,
  example,
})
const inQuery = (description: string, schema: Schema, example?: string | number): Omit<Parameter, 'name'> => ({
  in: 'query',
  description,
  schema,
  ...(example !== undefined && { example }),
})

const filters: Readonly<Record<string, Omit<Parameter, 'name'>>> = {
  limit: inQuery('The most entries on a page.', { type: 'integer', minimum: 1, maximum: 100, default: 30 }, 10),
  cursor: inQuery(
    'The `nextCursor` of the page before, unchanged. It carries its filters: they may be left out, but must not differ.',
    text,
  ),
  search: inQuery(
    'Only servers with every one of these words in name, title or description; case is ignored.',
    { ...text, maxLength: 200 },
    'github',
  ),
  version: inQuery('Only this version, or with `latest` the latest of each server.', text, 'latest'),
  updated_since: inQuery('Only what changed after this time, deleted entries included.', time),
  include_deleted: inQuery(
    'Also what was deleted lately: name, version and times. `false` contradicts `updated_since`.',
    { ...truth, default: false },
  ),
}

const parameters: OpenApiDocument['components']['parameters'] = {
  registry: inPath('registry', 'A registry, by its name in `/v1/registries`.', 'default'),
  serverName: inPath('serverName', 'A server, percent-encoded: its slash becomes `%2F`.', 'com.example/github'),
  serverVersion: inPath('version', 'A version, percent-encoded (`+` becomes `%2B`), or `latest`.', 'latest'),
  ...Object.fromEntries(Object.entries(filters).map(([name, filter]) => [name, { name, ...filter }])),
}

const headers: OpenApiDocument['components']['headers'] = {
  ETag: { description: 'Names these bytes; send it back as `If-None-Match`.', schema: text },
  'Cache-Control': { description: 'How long the answer may be kept.', schema: text },
  Age: { description: 'Present where the answer is older than it should be: by how many seconds.', schema: count },
  Allow: { description: 'The methods that this path knows.', schema: text },
  'Retry-After': { description: 'After how many seconds to ask again.', schema: count },
}

const problem = (description: string, status: number, ...more: readonly string[]): ApiResponse => ({
  description: `${description} Codes: ${codesOf(status)}.`,
  headers: headersOf('Cache-Control', ...more),
  content: jsonOf(schemaOf('Problem')),
})

const responses: OpenApiDocument['components']['responses'] = {
  304: {
    description: 'What `If-None-Match` names is still current.',
    headers: headersOf('ETag', 'Cache-Control', 'Age'),
  },
  400: problem('The request cannot be understood, or contradicts itself.', 400),
  404: problem('There is no such thing.', 404),
  405: problem('Sent for another method than GET, HEAD or OPTIONS.', 405, 'Allow'),
  414: problem('The URL is too long.', 414),
  422: problem('A parameter is out of its range.', 422),
  501: problem('Sent for requests to publish, change or delete: this registry is read-only.', 501),
  503: problem('Nothing can be served for the moment.', 503, 'Retry-After'),
}

type Paths = Readonly<Record<string, Operation>>

/** What a path answers: beside a body, the statuses of `responses` that it may have; any path may say 405. */
const get = (
  operationId: string,
  description: string,
  body: string | NonNullable<ApiResponse['content']>,
  statuses: readonly number[] = [],
  takes: readonly string[] = [],
): Operation => ({
  operationId,
  description,
  ...(takes.length > 0 && { parameters: takes.map((name) => ref('parameters', name)) }),
  responses: {
    200: {
      description: 'Success.',
      headers: headersOf('Cache-Control', ...(statuses.includes(304) ? ['ETag', 'Age'] : [])),
      content: typeof body === 'string' ? jsonOf(schemaOf(body)) : body,
    },
    ...Object.fromEntries([...statuses, 405].map((status) => [status, ref('responses', String(status))])),
  },
})

const READ = [304, 400, 404, 414, 422, 501, 503]

/** The MCP Registry API below a base; `ending` tells its operation ids apart, `takes` is what the base itself takes. */
const serversBelow = (base: string, ending: string, whose: string, takes: readonly string[]): Paths => ({
  [`${base}/servers`]: get(
    `listServers${ending}`,
    `A page of the servers of ${whose}. Filters combine; parameters that are not named here are ignored.`,
    'ServerList',
    READ,
    [...takes, ...Object.keys(filters)],
  ),
  [`${base}/servers/{serverName}/versions`]: get(
    `listVersions${ending}`,
    `All versions of a server of ${whose} on one page, the latest first.`,
    'ServerList',
    READ,
    [...takes, 'serverName', 'include_deleted'],
  ),
  [`${base}/servers/{serverName}/versions/{version}`]: get(
    `getVersion${ending}`,
    `One version of a server of ${whose}.`,
    'ServerResponse',
    READ,
    [...takes, 'serverName', 'serverVersion', 'include_deleted'],
  ),
})

/** Also below a registry: whoever is given its base looks for the document there. */
const documentBelow = (base: string, ending: string, statuses: readonly number[], takes: readonly string[]): Paths =>
  Object.fromEntries(
    ['yaml', 'json'].map((format) => [
      `${base}/openapi.${format}`,
      get(
        `${format}Document${ending}`,
        'This document. JSON is YAML, so both endings give the same text.',
        { [`application/${format}`]: { schema: { type: 'object' } } },
        statuses,
        takes,
      ),
    ]),
  )

const emptyList = (operationId: string, kind: string): Operation =>
  get(
    operationId,
    `The ${kind}, of which there are none: Waypost lists servers, but ToolHive asks.`,
    jsonOf(object([kind, 'metadata'], { [kind]: { type: 'array', maxItems: 0 }, metadata: schemaOf('Metadata') })),
  )

const readiness = get(
  'getReadiness',
  'How what is served stands. It is 200 whenever something can be served, however old: put alarms on the body.',
  'Readiness',
)
const unready = { description: 'There is nothing to serve.', content: jsonOf(schemaOf('Readiness')) }

const groups: Readonly<Record<string, Paths>> = {
  Servers: {
    ...serversBelow('/v0.1', '', 'the first registry', []),
    ...serversBelow('/v0', 'V0', 'the first registry (for clients that know only this prefix)', []),
    ...serversBelow('/registry/{registry}/v0.1', 'OfRegistry', 'a registry', ['registry']),
  },
  Registries: {
    '/registry/{registry}/registry.json': get(
      'getRegistryFile',
      "A registry as one file in ToolHive's format: the latest version of every server.",
      'RegistryFile',
      [304, 404, 503],
      ['registry'],
    ),
    '/v1/registries': get(
      'listRegistries',
      'The registries; `/v0.1` and `/v0` serve the first.',
      'RegistryList',
      [503],
    ),
    '/v1/registries/{registry}': get('getRegistry', 'How a registry stands.', 'Registry', [404, 503], ['registry']),
    '/v1/sources': get('listSources', 'How the sources of each registry stand.', 'SourceList', [503]),
    '/v0.1/x/dev.toolhive/skills': emptyList('listSkills', 'skills'),
    '/v0.1/x/dev.toolhive/plugins': emptyList('listPlugins', 'plugins'),
  },
  Service: {
    ...documentBelow('', '', [304], []),
    ...documentBelow('/registry/{registry}', 'OfRegistry', [304, 404, 503], ['registry']),
    '/docs': get('getDocs', 'This document for people.', { 'text/html': { schema: text } }, [304]),
    '/healthz': get('getHealth', 'Whether the service runs. It says nothing of the store.', 'Health'),
    '/readyz': { ...readiness, responses: { ...readiness.responses, 503: unready } },
    '/version': get('getWaypostVersion', 'The version of Waypost; that of the API is in its paths.', 'Version'),
  },
}

const paths: OpenApiDocument['paths'] = Object.fromEntries(
  Object.entries(groups).flatMap(([tag, group]) =>
    Object.entries(group).map(([path, operation]) => [path, { get: { ...operation, tags: [tag] } }]),
  ),
)

/**
 * What this API offers; `version` is Waypost's. ToolHive's registry server takes an upstream only where `info.version`
 * is 1.0.0 and the description names the registry project.
 */
export const openApiDocument = (version: string): OpenApiDocument => ({
  openapi: '3.1.0',
  info: {
    title: 'Waypost',
    version: '1.0.0',
    description:
      'A read-only MCP registry. It speaks the API of https://github.com/modelcontextprotocol/registry. HEAD answers like GET, without the body; OPTIONS answers 204 with what CORS allows, which is reading from everywhere.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    'x-waypost-version': version,
  },
  tags: [
    { name: 'Servers', description: 'The MCP Registry API.' },
    { name: 'Registries', description: 'What there is, and how it stands.' },
    { name: 'Service', description: 'This service itself.' },
  ],
  paths,
  components: { parameters, headers, responses, schemas },
})

/** The document as text: the same bytes for the same version. */
export const openApiJson = (version: string): string => `${JSON.stringify(openApiDocument(version), null, 2)}\n`
