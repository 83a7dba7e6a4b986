import { parse } from 'yaml'
import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import type { Connection } from './kube-fetch.ts'

// A Worker can send a bearer token to a name with a publicly trusted certificate, and nothing else. What it could not
// honour is refused: a certificate authority that is silently left out would trust anybody.

type Fields = Readonly<Record<string, unknown>>

const ELSEWHERE = 'Sync from a CronJob or a Lambda, and serve from the Worker'

const refuse = (code: string, problem: string, fix: string): OperationError =>
  new OperationError(code, `A Worker cannot use this kubeconfig: ${problem}. ${fix}.`)

const has = (fields: Fields, ...keys: readonly string[]): boolean => keys.some((key) => fields[key])

const CLUSTER_LIMITS: readonly (readonly [readonly string[], string, string, string])[] = [
  [
    ['certificate-authority', 'certificate-authority-data'],
    'WorkerCertificateAuthority',
    'it has a certificate authority of its own',
    `Use an address with a publicly trusted certificate and leave it out, or: ${ELSEWHERE}`,
  ],
  [['insecure-skip-tls-verify'], 'WorkerInsecure', 'it asks not to verify the certificate', ELSEWHERE],
  [['tls-server-name'], 'WorkerServerName', 'it asks for another server name', ELSEWHERE],
  [['proxy-url'], 'WorkerProxy', 'it asks for a proxy', ELSEWHERE],
]

const USER_LIMITS: typeof CLUSTER_LIMITS = [
  [
    ['client-certificate', 'client-certificate-data', 'client-key', 'client-key-data'],
    'WorkerClientCertificate',
    'it has a client certificate',
    'Use the token of a service account',
  ],
  [['exec'], 'WorkerExec', 'it runs a program for its credentials', 'Use the token of a service account'],
  [['auth-provider'], 'WorkerAuthProvider', 'it has an auth provider', 'Use the token of a service account'],
  [['tokenFile'], 'WorkerTokenFile', 'its token is in a file', 'Write the token itself'],
  [['username', 'password'], 'WorkerPassword', 'it has a password', 'Use the token of a service account'],
  [['as', 'as-groups', 'as-uid'], 'WorkerImpersonation', 'it speaks for somebody else', 'Use an account of its own'],
]

const named = (list: unknown, name: unknown, field: string): Fields | undefined => {
  const found = Array.isArray(list) ? list.find((each) => isMap(each) && each.name === name) : undefined
  return isMap(found) && isMap(found[field]) ? found[field] : undefined
}

const parseFile = (text: string): Fields => {
  let value: unknown
  try {
    // Without its warnings, which repeat the text.
    value = parse(text, { logLevel: 'error' })
  } catch {
    value = undefined
  }
  if (!isMap(value))
    throw refuse('KubeconfigInvalid', 'it is no YAML map', 'kubectl config view --raw --flatten --minify prints one')
  return value
}

const checkServer = (server: string): URL => {
  if (!URL.canParse(server)) throw refuse('KubeconfigInvalid', 'its server is no URL', 'Write https://HOST')
  const url = new URL(server)
  if (url.protocol !== 'https:') throw refuse('WorkerPlainHttp', 'its server is not https', 'Use an https address')
  if (/^[\d.]+$|^\[/.test(url.hostname))
    throw refuse('WorkerIpAddress', 'its server is an IP address', 'Use a name with a publicly trusted certificate')
  return url
}

/** A way in for a Worker, or why there is none. `fetch` may be that of a VPC, tunnel or mTLS binding. */
export const connectWorker = (
  text: string,
  context: string | undefined,
  fetch: typeof globalThis.fetch,
): Connection => {
  const file = parseFile(text)
  const wanted = context ?? file['current-context']
  const chosen = typeof wanted === 'string' ? wanted : ''
  const link = named(file.contexts, chosen, 'context')
  const cluster = link && named(file.clusters, link.cluster, 'cluster')
  const user = link && named(file.users, link.user, 'user')
  if (cluster === undefined || user === undefined)
    throw refuse(
      'KubeconfigInvalid',
      `context "${printable(chosen, 100)}" has no cluster or no user`,
      'kubectl config view --raw --flatten --minify prints a whole one',
    )
  for (const [limits, fields] of [
    [CLUSTER_LIMITS, cluster],
    [USER_LIMITS, user],
  ] as const)
    for (const [keys, code, problem, fix] of limits) if (has(fields, ...keys)) throw refuse(code, problem, fix)
  const url = checkServer(typeof cluster.server === 'string' ? cluster.server : '')
  const token = typeof user.token === 'string' ? user.token.trim() : ''
  if (!/^[\x21-\x7e]+$/.test(token))
    throw refuse('WorkerTokenMissing', 'its user has no token', 'Use the token of a service account')
  const root = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return {
    server: printable(root, 200),
    context: printable(chosen, 100),
    fetch: (path, { headers, ...init } = {}) =>
      // A redirect would carry the token elsewhere.
      fetch(`${root}${path}`, {
        ...init,
        redirect: 'manual',
        headers: { ...headers, authorization: `Bearer ${token}` },
      }),
  }
}
