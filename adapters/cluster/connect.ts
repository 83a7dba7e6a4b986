import { X509Certificate } from 'node:crypto'
import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { KubeConfig } from '@kubernetes/client-node'
import type { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import type { ClusterAccess } from '../../core/ports.ts'
import { clusterError } from './cluster-failure.ts'
import type { Connection, KubeFetch, KubeInit } from './kube-fetch.ts'
import { loadKubeconfig } from './kubeconfig.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** An API server takes an expired certificate for no certificate at all, and nobody would know why it says 401. */
const checkCertificate = (server: string, { cert }: RequestOptions): void => {
  if (typeof cert !== 'string' && !Buffer.isBuffer(cert)) return
  const { validToDate } = new X509Certificate(cert)
  if (validToDate.getTime() > Date.now()) return
  throw clusterError(server, {
    code: 'ClientCertificateExpired',
    cause: `the client certificate of the kubeconfig expired on ${validToDate.toISOString()}`,
    fix: 'Renew it',
  })
}

const credentialFailure = (server: string, config: KubeConfig, thrown: unknown): OperationError => {
  const { exec } = config.getCurrentUser() ?? {}
  const message = thrown instanceof Error ? printable(thrown.message.trim().split('\n')[0] ?? '', 200) : ''
  if (exec == null)
    return clusterError(server, {
      code: 'KubeconfigCredentialsUnusable',
      cause: `the credentials of the kubeconfig cannot be used: ${message}`,
      fix: 'Mend the kubeconfig',
    })
  const isMissing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'
  return clusterError(server, {
    code: 'ExecPluginFailed',
    cause: isMissing
      ? `the program ${printable(String(exec.command), 100)}, which the kubeconfig asks for credentials, is not installed`
      : `the program ${printable(String(exec.command), 100)}, which the kubeconfig asks for credentials, failed: ${message}`,
    fix: isMissing ? 'Install it, or use a kubeconfig with a token' : 'Sign in again with it',
  })
}

/** The options that the kubeconfig gives a request: authority, certificate, token, proxy. Plugins run here. */
const optionsOf = async (server: string, config: KubeConfig): Promise<RequestOptions> => {
  const options: RequestOptions = { headers: {} }
  try {
    await config.applyToHTTPSOptions(options)
  } catch (thrown) {
    throw credentialFailure(server, config, thrown)
  }
  checkCertificate(server, options)
  const agent = options.agent as Agent & { keepAlive: boolean }
  // The library keeps one agent for a user, but it opens a connection for every call.
  agent.keepAlive = true
  return options
}

/** Tokens from files and plugins often end in a newline, which no header may. */
const headersOf = (options: RequestOptions, init: KubeInit): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ 'accept-encoding': 'gzip', ...(options.headers as Record<string, string>), ...init.headers }).map(
      ([name, value]) => [name, String(value).trim()],
    ),
  )

const toResponse = (incoming: IncomingMessage): Response => {
  const isPacked = incoming.headers['content-encoding'] === 'gzip'
  // A stream that ends early fails here as it would without gzip.
  const body = isPacked ? pipeline(incoming, createGunzip(), () => {}) : incoming
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, String(value))
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, { status: incoming.statusCode ?? 0, headers })
}

const createKubeFetch =
  (config: KubeConfig, server: string): KubeFetch =>
  async (path, init = {}) => {
    const options = await optionsOf(server, config)
    const url = new URL(`${server}${path}`)
    const request = url.protocol === 'http:' ? requestHttp : requestHttps
    return new Promise((resolve, reject) => {
      const { method = 'GET', body, signal } = init
      const sent = request(url, { ...options, method, headers: headersOf(options, init), ...(signal && { signal }) })
      sent.once('response', (incoming) => resolve(toResponse(incoming)))
      sent.once('error', reject)
      sent.end(body)
    })
  }

/** For messages, without a password that somebody wrote into it. */
const addressOf = (server: string): string => {
  if (!URL.canParse(server)) return printable(server, 200)
  const { origin, pathname } = new URL(server)
  return printable(`${origin}${pathname === '/' ? '' : pathname}`, 200)
}

/** A way into a cluster with what a kubeconfig says. */
export const connect = (access: ClusterAccess, environment: Environment, root = ''): Connection => {
  const { config } = loadKubeconfig(access, environment, root)
  // A server behind Rancher and its like has a path.
  const server = (config.getCurrentCluster()?.server ?? '').replace(/\/+$/, '')
  return { fetch: createKubeFetch(config, server), server: addressOf(server), context: config.currentContext }
}
