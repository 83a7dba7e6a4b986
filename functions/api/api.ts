import { type Context, Hono } from 'hono'
import type { OpenPublication } from '../publication/open-publication.ts'
import type { Reader } from '../publication/reader.ts'
import { answerFile, answerList, answerVersion, answerVersions, type Body } from './answers.ts'
import { findKnown } from './conditions.ts'
import { docsPage } from './docs-page.ts'
import { renderHealth } from './health.ts'
import { createHotAnswers } from './hot-answers.ts'
import { openApiDocument, openApiJson } from './openapi.ts'
import { findRepeated, parseIncludeDeleted, parseList } from './parse-list.ts'
import { type Problem, problem, problemJson } from './problem.ts'
import {
  BRIEFLY,
  CORS,
  headersOf,
  NO_REGISTRY,
  problemHeaders,
  problemOf,
  sendJson,
  sendProblem,
  sendText,
  streamOf,
  unavailable,
} from './send.ts'

export type ApiOptions = {
  readonly version?: string
  /** Compress answers here? Not where the platform does. */
  readonly compresses?: boolean
}

/** The same API under three roofs: the stable version, the one that Docker asks for, and each registry by its name. */
const BASES = ['/v0.1', '/v0', '/registry/:registry/v0.1', '/registry/:registry/v0'] as const
/** A name is one segment with %2F in it; proxies that decode it make two of it. */
const NAMES = ['/servers/:name', '/servers/:namespace/:name'] as const

const LONGEST_URL = 8192
const READ_ONLY = problem(405, 'MethodNotAllowed', 'This registry is read-only', { Allow: 'GET, HEAD, OPTIONS' })

/** What no handler should have to think of. */
const refuse = (c: Context): Problem | undefined => {
  if (c.req.url.length > LONGEST_URL) return problem(414, 'UrlTooLong', `A URL has at most ${LONGEST_URL} characters`)
  try {
    if (!decodeURIComponent(c.req.url).includes('\u0000')) return undefined
  } catch {
    // Not percent encoding, or not of UTF-8.
  }
  return problem(400, 'PathInvalid', 'The URL is not properly percent-encoded')
}

const nameIn = (c: Context): string => {
  const { namespace, name = '' } = c.req.param()
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** The MCP Registry API over what a reader has; the first registry is also served without its name. */
export const createApi = (reader: Reader, { version = 'unknown', compresses = false }: ApiOptions = {}): Hono => {
  const app = new Hono()
  const hot = createHotAnswers(reader, compresses)
  const openApi = openApiJson(version)
  const docs = docsPage(openApiDocument(version))
  /** For what is the same in every registry, and must not be there for one that is not. */
  const ofRegistry = (handle: (c: Context) => Response) => async (c: Context) => {
    const registry = c.req.param('registry')
    const known = registry === undefined ? [] : await reader.registries()
    return registry === undefined || known.length === 0 || known.includes(registry)
      ? handle(c)
      : sendProblem(c, NO_REGISTRY)
  }
  const get = (path: string, handle: (c: Context) => Response | Promise<Response>): void => {
    app.get(path, (c) => {
      const refused = refuse(c)
      return refused === undefined ? handle(c) : sendProblem(c, refused)
    })
  }
  const answer = async (
    c: Context,
    ask: (publication: OpenPublication) => Promise<Body | undefined>,
  ): Promise<Response> => {
    const registry = c.req.param('registry')
    const given = await reader.ask(registry, ask)
    if (given.kind !== 'answer' || given.value === undefined) return sendProblem(c, problemOf(given))
    const body = given.value
    return hot.give(c.req.raw, registry, given.publication, body, headersOf(body.etag, given.age, compresses))
  }

  for (const base of BASES) {
    get(`${base}/servers`, (c) => {
      const { searchParams } = new URL(c.req.url)
      const request = parseList(searchParams)
      if (request.kind === 'problem') return sendProblem(c, request)
      return answer(c, (publication) => answerList(publication, request))
    })
    for (const path of NAMES) {
      get(`${base}${path}/versions`, (c) => {
        const { searchParams } = new URL(c.req.url)
        const isDeletedToo = findRepeated(searchParams) ?? parseIncludeDeleted(searchParams.get('include_deleted'))
        if (typeof isDeletedToo !== 'boolean') return sendProblem(c, isDeletedToo)
        const name = nameIn(c)
        return answer(c, (publication) => answerVersions(publication, name, isDeletedToo))
      })
      get(`${base}${path}/versions/:version`, (c) => {
        const { searchParams } = new URL(c.req.url)
        const isDeletedToo = findRepeated(searchParams) ?? parseIncludeDeleted(searchParams.get('include_deleted'))
        if (typeof isDeletedToo !== 'boolean') return sendProblem(c, isDeletedToo)
        const [name, wanted] = [nameIn(c), c.req.param('version') ?? '']
        return answer(c, (publication) => answerVersion(publication, name, wanted, isDeletedToo))
      })
    }
    for (const kind of ['skills', 'plugins'])
      get(
        `${base}/x/dev.toolhive/${kind}`,
        ofRegistry((c) => sendJson(c, `{"${kind}":[],"metadata":{"count":0}}`)),
      )
  }

  get('/registry/:registry/registry.json', async (c) => {
    const isWanted = (etag: string): boolean =>
      c.req.method !== 'HEAD' && findKnown(c.req.header('If-None-Match'), etag) === undefined
    const given = await reader.ask(c.req.param('registry'), (publication) => answerFile(publication, isWanted))
    if (given.kind !== 'answer') return sendProblem(c, problemOf(given))
    const { etag, pieces } = given.value
    const headers = headersOf(etag, given.age, false)
    if (pieces !== undefined) return c.body(streamOf(pieces), 200, headers)
    return c.body(null, findKnown(c.req.header('If-None-Match'), etag) === undefined ? 200 : 304, headers)
  })
  get('/v1/registries', async (c) => {
    const { registries, problem: why } = await reader.health()
    if (registries.length === 0 && why !== undefined) return sendProblem(c, unavailable(why.detail))
    return sendJson(c, JSON.stringify({ registries }))
  })
  get('/v1/registries/:registry', async (c) => {
    const { registries, problem: why } = await reader.health()
    if (registries.length === 0 && why !== undefined) return sendProblem(c, unavailable(why.detail))
    const found = registries.find(({ name }) => name === c.req.param('registry'))
    return found === undefined ? sendProblem(c, NO_REGISTRY) : sendJson(c, JSON.stringify(found))
  })
  get('/v1/sources', async (c) => {
    const sources = await reader.sources()
    return sources === undefined ? sendProblem(c, unavailable()) : sendJson(c, JSON.stringify({ sources }))
  })
  for (const root of ['', '/registry/:registry']) {
    get(
      `${root}/openapi.json`,
      ofRegistry((c) => sendText(c, openApi, 'application/json')),
    )
    get(
      `${root}/openapi.yaml`,
      ofRegistry((c) => sendText(c, openApi, 'application/yaml')),
    )
  }
  get('/docs', (c) => sendText(c, docs, 'text/html; charset=utf-8'))
  get('/healthz', (c) => sendJson(c, '{"status":"healthy"}'))
  get('/readyz', async (c) => {
    const { status, body } = renderHealth(await reader.health())
    return sendJson(c, body, status)
  })
  get('/version', (c) => sendJson(c, JSON.stringify({ version })))

  app.options('*', (c) => c.body(null, 204, { ...CORS, 'Access-Control-Max-Age': '86400' }))
  for (const base of BASES) {
    const writes = [
      `${base}/publish`,
      ...NAMES.flatMap((path) => [
        `${base}${path}/status`,
        `${base}${path}/versions/:version`,
        `${base}${path}/versions/:version/status`,
      ]),
    ]
    for (const path of writes)
      app.on(['POST', 'PUT', 'PATCH', 'DELETE'], path, (c) =>
        sendProblem(
          c,
          problem(501, 'ReadOnly', 'This registry is compiled from a cluster; nothing is published by hand'),
        ),
      )
  }
  app.notFound((c) => {
    const refused = refuse(c)
    if (refused !== undefined) return sendProblem(c, refused)
    const isRead = c.req.method === 'GET' || c.req.method === 'HEAD'
    if (!isRead) return sendProblem(c, READ_ONLY)
    const { pathname, search } = new URL(c.req.url)
    // One slash in front: two would name another host.
    if (/[^/]\/+$/.test(pathname))
      return c.body(null, 308, {
        ...CORS,
        'Cache-Control': BRIEFLY,
        Location: `/${pathname.replace(/^\/+|\/+$/g, '')}${search}`,
      })
    return sendProblem(
      c,
      problem(
        404,
        'PathNotFound',
        'There is nothing here; the list of servers is at /v0.1/servers, all paths are at /docs',
      ),
    )
  })
  app.onError((error, c) => {
    // Hono turns what its own router cannot decode into an error; everything else is ours, and must not be hidden.
    if (error instanceof URIError)
      return sendProblem(c, problem(400, 'PathInvalid', 'The URL is not properly percent-encoded'))
    throw error
  })
  const throughRoutes = app.fetch
  app.fetch = (request, ...rest) => {
    // Hono's router looks methods up in plain objects: one that is called __proto__ would change every object there is.
    if (request.method in Object.prototype)
      return new Response(problemJson(READ_ONLY), { status: READ_ONLY.status, headers: problemHeaders(READ_ONLY) })
    // What was answered before does not go through the routes again.
    return hot.find(request) ?? throughRoutes(request, ...rest)
  }
  return app
}
