import { type Context, Hono } from 'hono'
import type { Bytes } from '../../core/model/bytes.ts'
import type { ServedRegistry } from '../../core/serve/served-registry.ts'

const HEADERS = { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' }

const send = (c: Context, bytes: Bytes): Response => c.body(bytes, 200, HEADERS)

/** One body that satisfies the spec (`error`) and the official server (`title`, `status`, `detail`). */
const notFound = (c: Context, code: string, detail: string): Response =>
  c.body(JSON.stringify({ title: 'Not Found', status: 404, detail, error: detail, code }), 404, HEADERS)

const registryRoutes = (registry: ServedRegistry): Hono => {
  const routes = new Hono()
  routes.get('/servers', (c) => send(c, registry.list))
  routes.get('/servers/:name/versions', (c) => {
    const bytes = registry.versions(c.req.param('name'))
    return bytes === undefined ? notFound(c, 'ServerNotFound', 'Server not found') : send(c, bytes)
  })
  routes.get('/servers/:name/versions/:version', (c) => {
    const bytes = registry.version(c.req.param('name'), c.req.param('version'))
    return bytes === undefined ? notFound(c, 'ServerNotFound', 'Server or version not found') : send(c, bytes)
  })
  return routes
}

/** The MCP Registry API over registries that are handed in; the first is also served without its name. */
export const createApi = (registries: readonly [ServedRegistry, ...ServedRegistry[]]): Hono => {
  const app = new Hono()
  app.get('/healthz', (c) => c.body('{"status":"healthy"}', 200, HEADERS))
  app.route('/v0.1', registryRoutes(registries[0]))
  for (const registry of registries) app.route(`/registry/${registry.name}/v0.1`, registryRoutes(registry))
  app.notFound((c) => notFound(c, 'PathNotFound', 'There is nothing here; the list of servers is at /v0.1/servers'))
  return app
}
