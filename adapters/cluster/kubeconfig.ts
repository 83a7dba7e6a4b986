import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { parseDocument } from 'yaml'
import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import { yamlProblem } from '../../core/model/yaml-problem.ts'
import type { ClusterAccess } from '../../core/ports.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where a service account's files are mounted in a pod. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const invalid = (from: string, problem: string, fix: string): OperationError =>
  new OperationError('KubeconfigInvalid', `The kubeconfig in ${from} cannot be used: ${problem}. ${fix}.`)

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
  return /^[A-Za-z0-9+/]+={0,2}$/.test(compact) ? atob(compact) : value
}

type User = { readonly name?: unknown; readonly user?: unknown }

/** What the client library leaves out: a token file is read again when it changes, and a plugin is told its version. */
const completeUsers = (config: KubeConfig, users: readonly User[], folder: string): void => {
  for (const { name, user } of users) {
    const known = config.users.find((each) => each.name === name)
    if (known === undefined || !isMap(user)) continue
    if (typeof user.tokenFile === 'string') {
      const tokenFile = resolve(folder, user.tokenFile)
      Object.assign(known, { token: undefined, authProvider: { name: 'tokenFile', config: { tokenFile } } })
    }
    if (isMap(user.exec)) {
      const { apiVersion, env } = user.exec
      const value = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } })
      const told = [...(Array.isArray(env) ? env : []), { name: 'KUBERNETES_EXEC_INFO', value }]
      Object.assign(known, { exec: { ...user.exec, env: told } })
    }
  }
}

const parseKubeconfig = (text: string, from: string, folder: string): KubeConfig => {
  const document = parseDocument(text, { logLevel: 'error' })
  const [error] = document.errors
  if (error !== undefined) throw invalid(from, `it is not YAML: ${yamlProblem(error)}`, 'Write it anew')
  const value: unknown = document.toJS()
  if (!isMap(value) || !Array.isArray(value.clusters) || !Array.isArray(value.contexts))
    throw invalid(from, 'it has no clusters and contexts', 'kubectl config view --raw --flatten prints a whole one')
  const users: readonly User[] = Array.isArray(value.users) ? value.users.filter(isMap) : []
  // Without the token files: the library would read each once and keep what it read.
  const withoutFiles = users.map(({ name, user }) => ({
    name,
    user: isMap(user) ? { ...user, tokenFile: undefined } : user,
  }))
  const config = new KubeConfig()
  try {
    config.loadFromString(JSON.stringify({ ...value, users: withoutFiles }))
    config.makePathsAbsolute(folder)
  } catch (thrown) {
    const why = thrown instanceof Error ? printable(thrown.message, 200) : 'it has another shape'
    throw invalid(from, why, 'kubectl config view --raw --flatten prints a whole one')
  }
  completeUsers(config, users, folder)
  return config
}

/** As kubectl merges the files of KUBECONFIG: of two with one name the first counts, and a file that is not there is none. */
const mergeFiles = (paths: readonly string[], from: string): KubeConfig => {
  const configs = paths.flatMap((path) => {
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

/** The kubeconfig that counts, with its context chosen and complete. A pod's account is looked for below `root`. */
export const loadKubeconfig = (
  access: ClusterAccess,
  environment: Environment,
  root = '',
): { readonly from: string; readonly config: KubeConfig } => {
  const { from, config } = findKubeconfig(access, environment, root)
  const names = config.contexts.map(({ name }) => name)
  const context = access.context ?? config.currentContext
  if (!context)
    throw invalid(from, 'it has no current-context', `Name one of ${names.join(', ')} as context of the source`)
  if (!names.includes(context))
    throw invalid(from, `there is no context ${printable(context, 100)}`, `There are ${names.join(', ') || 'none'}`)
  config.setCurrentContext(context)
  if (config.getCurrentCluster()?.server === undefined)
    throw invalid(from, `the cluster of context ${context} is not in it`, 'Add it, or choose another context')
  return { from, config }
}
