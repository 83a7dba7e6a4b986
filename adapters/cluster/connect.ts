import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { KubeConfig } from '@kubernetes/client-node'
import type { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import type { ClusterAccess } from '../../core/ports.ts'
import { clusterError } from './cluster-failure.ts'
import { pluginOf } from './exec-plugin.ts'
import type { Connection, KubeFetch, KubeInit } from './kube-fetch.ts'
import { loadKubeconfig } from './kubeconfig.ts'

type Environment = Readonly<Record<string, string | undefined>>

const unusable = (server: string, problem: string): OperationError =>
  clusterError(server, {
    code: 'KubeconfigCredentialsUnusable',
    cause: `the credentials of the kubeconfig cannot be used: ${problem}`,
    fix: 'Mend the kubeconfig',
  })

/** An API server takes an expired certificate for no certificate at all, and nobody would know why it says 401. */
const checkCertificate = (server: string, { cert, key }: RequestOptions): void => {
  if (typeof cert !== 'string' && !Buffer.isBuffer(cert)) return
  if (typeof key !== 'string' && !Buffer.isBuffer(key)) throw unusable(server, 'the client certificate has no key')
  let certificate: X509Certificate
  let isKeyOfIt: boolean
  try {
    certificate = new X509Certificate(cert)
    isKeyOfIt = certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    throw unusable(server, 'the client certificate or its key is no PEM')
  }
  if (!isKeyOfIt) throw unusable(server, 'the client key is not that of the client certificate')
  if (certificate.validToDate.getTime() > Date.now()) return
  throw clusterError(server, {
    code: 'ClientCertificateExpired',
    cause: `the client certificate of the kubeconfig expired on ${certificate.validToDate.toISOString()}`,
    fix: 'Renew it',
  })
}

/** A provider that gives nothing would let us ask as nobody, and be refused everything, one by one. */
const checkToken = (server: string, config: KubeConfig, { headers, cert }: RequestOptions): void => {
  const authorization = new Map(Object.entries(headers ?? {})).get('Authorization')
  if (authorization === undefined && (config.getCurrentUser()?.authProvider == null || cert !== undefined)) return
  const token = String(authorization ?? '').replace(/^Bearer\s*/, '')
  if (token === '') throw unusable(server, 'the token is empty, or has expired and cannot be renewed')
  if (!/^[\x21-\x7e]+\s*$/.test(token)) throw unusable(server, 'the token has a character that no token has')
}

const credentialFailure = (server: string, config: KubeConfig, thrown: unknown): OperationError => {
  const user = config.getCurrentUser()
  const plugin = pluginOf(user)
  // What cannot be parsed is repeated in the message, and is a credential.
  const message =
    thrown instanceof Error && !(thrown instanceof SyntaxError)
      ? printable(thrown.message.trim().split('\n')[0] ?? '', 300)
      : 'what came back cannot be read'
  const call = thrown instanceof Error && 'syscall' in thrown ? String(thrown.syscall) : ''
  // The library cannot renew one: it gives the URL of the issuer in a form that its own client refuses.
  if (call === '' && user?.authProvider?.name === 'oidc')
    return unusable(server, 'the OIDC token has expired or is none, and cannot be renewed here')
  const isUnstarted = call.startsWith('spawn')
  // A file that cannot be read is not the fault of a program.
  if (plugin === undefined || (call !== '' && !isUnstarted)) return unusable(server, message)
  const why = message.endsWith('ENOENT') ? 'is not installed' : `cannot be started: ${message}`
  return clusterError(server, {
    code: 'ExecPluginFailed',
    cause: `the program ${plugin}, which the kubeconfig asks for credentials, ${isUnstarted ? why : message}`,
    fix: isUnstarted ? 'Install it, or use a kubeconfig with a token' : 'Sign in again with it',
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
  checkToken(server, config, options)
  const agent = options.agent as Agent & { keepAlive: boolean; options: RequestOptions }
  // The library keeps one agent for a user, but it opens a connection for every call,
  agent.keepAlive = true
  // and with the first certificate that it was given, which is renewed before a watch ends.
  const { ca, cert, key } = options
  Object.assign(agent.options, { ca, cert, key })
  return options
}

/** Tokens from files and plugins often end in a newline, which no header may. */
const headersOf = (options: RequestOptions, init: KubeInit): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ 'accept-encoding': 'gzip', ...(options.headers as Record<string, string>), ...init.headers }).map(
      ([name, value]) => [name, String(value).trim()],
    ),
  )

/** Answers that have no body, as `Response` insists. */
const BODILESS = [204, 205, 304]

const toResponse = (incoming: IncomingMessage): Response => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, String(value))
  const status = incoming.statusCode ?? 0
  if (BODILESS.includes(status)) {
    incoming.resume()
    return new Response(null, { status, headers })
  }
  const isPacked = incoming.headers['content-encoding'] === 'gzip'
  // A stream that ends early fails here as it would without gzip.
  const body = isPacked ? pipeline(incoming, createGunzip(), () => {}) : incoming
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, { status, headers })
}

const createKubeFetch =
  (config: KubeConfig, root: string, server: string): KubeFetch =>
  async (path, init = {}) => {
    const options = await optionsOf(server, config)
    const url = new URL(`${root}${path}`)
    const request = url.protocol === 'http:' ? requestHttp : requestHttps
    return new Promise((resolve, reject) => {
      const { method = 'GET', body, signal } = init
      const sent = request(url, { ...options, method, headers: headersOf(options, init), ...(signal && { signal }) })
      sent.once('response', (incoming) => {
        try {
          resolve(toResponse(incoming))
        } catch {
          // Of a status that is none.
          sent.destroy()
          const cause = `it answers ${incoming.statusCode}`
          const fix = 'Look for a proxy between here and there'
          reject(clusterError(server, { code: 'ClusterAnswerUnexpected', cause, fix }))
        }
      })
      sent.once('error', reject)
      sent.end(body)
    })
  }

/** For messages, without a password that somebody wrote into it. */
const addressOf = (url: string): string => {
  if (!URL.canParse(url)) return 'an address that is no URL'
  const { protocol, host, pathname } = new URL(url)
  return printable(`${protocol}//${host}${pathname === '/' ? '' : pathname}`, 200)
}

/** A way into a cluster with what a kubeconfig says. */
export const connect = (access: ClusterAccess, environment: Environment, root = ''): Connection => {
  const { config } = loadKubeconfig(access, environment, root)
  const { server = '', proxyUrl } = config.getCurrentCluster() ?? {}
  // A server behind Rancher and its like has a path.
  const base = server.replace(/\/+$/, '')
  // Where there is a proxy, it may be what does not answer.
  const address = proxyUrl ? `${addressOf(base)} through ${addressOf(proxyUrl)}` : addressOf(base)
  return { fetch: createKubeFetch(config, base, address), server: address, context: config.currentContext }
}
