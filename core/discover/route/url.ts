import { DEFAULT_PORTS } from '../../model/entry.ts'
import type { HttpRoute } from '../../model/gateway.ts'
import type { McpResource } from '../../model/snapshot.ts'
import type { DiscoveryOptions } from '../options.ts'
import type { Host } from './hosts.ts'
import { fullNameOf, nameOf } from './landscape.ts'
import type { Scheme } from './listeners.ts'

/** A URL of a route, and how it came about: what grace, order and conflicts are decided by. */
export type RouteEndpoint = {
  readonly url: string
  readonly scheme: Scheme
  readonly host: string
  readonly port: number
  readonly path: string
  readonly hostSource: 'hostname' | 'address'
  readonly resource: McpResource
  readonly route: string
  readonly gateway: string
  readonly owner: string
  readonly listener: string
  readonly listenerPort: number
}

/** The URL of a host and a path, with what the configuration knows of the load balancer in front of the Gateway. */
export const urlOf = (
  { attachment, host, source }: Host,
  path: string,
  route: HttpRoute,
  resource: McpResource,
  options: DiscoveryOptions,
): RouteEndpoint | undefined => {
  const { parent, listener } = attachment
  const gateway = nameOf(parent.gateway)
  const override = options.gateways[gateway]
  const scheme = override?.scheme ?? attachment.scheme
  // Who puts https in front of a plain listener has moved port 80 to 443 with it.
  const isUsual = listener.port === DEFAULT_PORTS[attachment.scheme]
  const port = override?.ports?.[String(listener.port)] ?? (isUsual ? DEFAULT_PORTS[scheme] : listener.port)
  const name = host.includes(':') ? URL.parse(`http://[${host}]/`)?.hostname : host
  if (name === undefined) return undefined
  const url = `${scheme}://${name}${port === DEFAULT_PORTS[scheme] ? '' : `:${port}`}${path}`
  if (URL.parse(url)?.href !== url) return undefined
  return {
    url,
    scheme,
    host: name,
    port,
    path,
    hostSource: source,
    resource,
    route: nameOf(route),
    gateway,
    owner: fullNameOf(parent.owner),
    listener: listener.name,
    listenerPort: listener.port,
  }
}
