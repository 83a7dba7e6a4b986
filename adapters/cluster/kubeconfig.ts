import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve, sep } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { parseDocument } from 'yaml'
import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { printable, quote } from '../../core/model/printable.ts'
import { yamlProblem } from '../../core/model/yaml-problem.ts'
import type { ClusterAccess } from '../../core/ports.ts'
import { createExecAuthenticator, execProvider } from './exec-plugin.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where a service account's files are mounted in a pod. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const WHOLE = 'kubectl config view --raw --flatten prints a whole one'
/** No user of a file can be called that. */
const ANONYMOUS = ''

const invalid = (from: string, problem: string, fix: string): OperationError =>
  new OperationError('KubeconfigInvalid', `The kubeconfig in ${from} cannot be used: ${problem}. ${fix}.`)

/** Somebody may have put the file itself where its path belongs; then it must not be repeated. */
const checkPath = (path: string, from: string): void => {
  if (path.length > 400 || /[\n{}]/.test(path))
    throw invalid(
      from === path ? 'kubernetes.kubeconfig' : from,
      'it is no path',
      'Put the text into WAYPOST_KUBECONFIG',
    )
}

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be read'
    throw invalid(path, why, 'Make it readable for this user')
  }
}

/** `WAYPOST_KUBECONFIG` is the file itself, as it is or in base64, as secrets often are. */
export const kubeconfigText = (value: string): string => {
  const compact = value.replace(/\s/g, '')
  return /^[A-Za-z0-9+/]+={0,2}$/.test(compact) ? Buffer.from(compact, 'base64').toString('utf8') : value
}

type User = { readonly name?: unknown; readonly user?: unknown }

/** What the library would do otherwise: a token file is read again when it changes, and a plugin has a time limit. */
const completeUsers = (config: KubeConfig, users: readonly User[], folder: string): void => {
  for (const { name, user } of users) {
    const known = config.users.find((each) => each.name === name)
    if (known === undefined || !isMap(user)) continue
    if (typeof user.tokenFile === 'string') {
      const tokenFile = resolve(folder, user.tokenFile)
      Object.assign(known, { token: undefined, authProvider: { name: 'tokenFile', config: { tokenFile } } })
    }
    if (isMap(user.exec)) {
      const { command } = user.exec
      // As kubectl: a name is looked for in PATH, a path begins at the kubeconfig.
      const program = typeof command === 'string' && command.includes(sep) ? resolve(folder, command) : command
      Object.assign(known, { exec: undefined, authProvider: execProvider({ ...user.exec, command: program }) })
    }
  }
}

const readYaml = (text: string, from: string): Readonly<Record<string, unknown>> => {
  const document = parseDocument(text, { logLevel: 'error' })
  const [error] = document.errors
  if (error !== undefined) throw invalid(from, `it is not YAML: ${yamlProblem(error)}`, 'Write it anew')
  let value: unknown
  try {
    value = document.toJS() ?? {}
  } catch {
    throw invalid(from, 'it is not YAML: an alias leads nowhere, or too far', 'Write it anew')
  }
  const lists = isMap(value) ? [value.clusters, value.contexts, value.users] : [undefined]
  // An empty list is often written as null, and one of several files need not have all of them.
  if (!isMap(value) || !lists.every((list) => list == null || (Array.isArray(list) && list.every(isMap))))
    throw invalid(from, 'it has no lists of clusters, contexts and users', WHOLE)
  return value
}

const parseKubeconfig = (text: string, from: string, folder: string): KubeConfig => {
  const value = readYaml(text, from)
  const users: readonly User[] = Array.isArray(value.users) ? value.users : []
  // Without the token files: the library would read each once and keep what it read.
  const withoutFiles = users.map(({ name, user }) => ({
    name,
    user: isMap(user) ? { ...user, tokenFile: undefined } : user,
  }))
  const config = new KubeConfig()
  config.addAuthenticator(createExecAuthenticator())
  try {
    config.loadFromString(JSON.stringify({ ...value, users: withoutFiles }))
    config.makePathsAbsolute(folder)
  } catch (thrown) {
    // A TypeError is the library's own, about a value that it did not expect.
    const why = thrown instanceof Error && !(thrown instanceof TypeError) ? printable(thrown.message, 200) : ''
    throw invalid(from, why || 'a field of it has another type than it should', WHOLE)
  }
  completeUsers(config, users, folder)
  return config
}

/** As kubectl merges the files of KUBECONFIG: of two with one name the first counts, and a file that is not there is none. */
const mergeFiles = (paths: readonly string[], from: string): KubeConfig => {
  const configs = paths.flatMap((path) => {
    checkPath(path, from)
    const text = readText(path)
    return text === undefined ? [] : [parseKubeconfig(text, path, dirname(resolve(path)))]
  })
  const [first, ...others] = configs
  if (first === undefined) throw invalid(from, `there is no file ${paths.join(' nor ')}`, 'Name one that exists')
  const adopt = <T extends { readonly name: string }>(own: T[], more: readonly T[]): void => {
    for (const each of more) if (!own.some(({ name }) => name === each.name)) own.push(each)
  }
  for (const other of others) {
    adopt(first.clusters, other.clusters)
    adopt(first.users, other.users)
    adopt(first.contexts, other.contexts)
    first.currentContext ||= other.currentContext
  }
  return first
}

const inCluster = (environment: Environment, root: string): KubeConfig | undefined => {
  if (!environment.KUBERNETES_SERVICE_HOST || readText(`${root}${SERVICE_ACCOUNT}/token`) === undefined)
    return undefined
  const config = new KubeConfig()
  config.loadFromCluster(root)
  return config
}

/** The first that there is: the source's own path, WAYPOST_KUBECONFIG, KUBECONFIG, ~/.kube/config, a pod's account. */
const findKubeconfig = ({ kubeconfig }: ClusterAccess, environment: Environment, root: string) => {
  if (kubeconfig !== undefined) return { from: kubeconfig, config: mergeFiles([kubeconfig], kubeconfig) }
  const { WAYPOST_KUBECONFIG: own, KUBECONFIG: files } = environment
  if (own)
    return { from: 'WAYPOST_KUBECONFIG', config: parseKubeconfig(kubeconfigText(own), 'WAYPOST_KUBECONFIG', '.') }
  const paths = (files ?? '').split(delimiter).filter((path) => path !== '')
  if (paths.length > 0) return { from: 'KUBECONFIG', config: mergeFiles(paths, 'KUBECONFIG') }
  const usual = join(environment.HOME || homedir(), '.kube', 'config')
  if (readText(usual) !== undefined) return { from: usual, config: mergeFiles([usual], usual) }
  const config = inCluster(environment, root)
  if (config !== undefined) return { from: 'the service account of this pod', config }
  throw new OperationError(
    'KubeconfigMissing',
    `There is no kubeconfig: not in WAYPOST_KUBECONFIG, KUBECONFIG or ${usual}, and this is no pod with a service account. Name one, or give --from a folder of manifests.`,
  )
}

const checkServer = (
  from: string,
  cluster: { readonly server: string; readonly skipTLSVerify: boolean } | null,
): void => {
  const { server = '', skipTLSVerify = false } = cluster ?? {}
  const protocol = URL.canParse(server) ? new URL(server).protocol : ''
  if (protocol === 'https:' || (protocol === 'http:' && skipTLSVerify)) return
  if (protocol === 'http:')
    throw invalid(from, 'its server is not https', 'Use https, or set insecure-skip-tls-verify if everybody may listen')
  throw invalid(from, 'its server is no URL', 'Write https://HOST:PORT')
}

/** The kubeconfig that counts, with its context chosen and complete. A pod's account is looked for below `root`. */
export const loadKubeconfig = (
  access: ClusterAccess,
  environment: Environment,
  root = '',
): { readonly from: string; readonly config: KubeConfig } => {
  const { from, config } = findKubeconfig(access, environment, root)
  const names = printable(config.contexts.map(({ name }) => name).join(', '), 300)
  if (names === '') throw invalid(from, 'it has no contexts', WHOLE)
  const context: unknown = access.context ?? config.currentContext
  if (!context) throw invalid(from, 'it has no current-context', `Name one of ${names} as context of the source`)
  const chosen = config.contexts.find(({ name }) => name === context)
  if (typeof context !== 'string' || chosen === undefined)
    throw invalid(from, `there is no context ${quote(context)}`, `There are ${names}`)
  config.setCurrentContext(context)
  const missing =
    config.getCurrentCluster() === null ? 'cluster' : chosen.user && !config.getCurrentUser() ? 'user' : ''
  if (missing !== '')
    throw invalid(from, `the ${missing} of context ${quote(context)} is not in it`, 'Add it, or choose another context')
  checkServer(from, config.getCurrentCluster())
  // Without a user the library would not even look at the certificate authority.
  if (!chosen.user) {
    Object.assign(chosen, { user: ANONYMOUS })
    config.users.push({ name: ANONYMOUS })
  }
  return { from, config }
}
