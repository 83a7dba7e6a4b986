import { spawn } from 'node:child_process'
import type { RequestOptions } from 'node:https'
import { isMap } from '../../core/model/is-map.ts'
import { printable } from '../../core/model/printable.ts'

// The library would wait forever for a program that waits for its user, and repeat what it printed, which is a secret.

type Fields = Readonly<Record<string, unknown>>
type Credential = {
  readonly token?: string
  readonly certificate?: string
  readonly key?: string
  readonly expiresAt: number
}
type PluginUser = {
  readonly name?: unknown
  readonly authProvider?: { readonly name?: string; readonly config?: Fields }
}

const PROVIDER = 'waypost-exec'
/** Less than a request may take, so that the program is blamed and not the server. */
const LIMIT_MS = 20_000
const UNTOLD_MS = 5 * 60_000

/** As the user of a kubeconfig: who asks the program for credentials. */
export const execProvider = (exec: Fields): { readonly name: string; readonly config: Fields } => ({
  name: PROVIDER,
  config: { ...exec, command: typeof exec.command === 'string' ? exec.command : '' },
})

/** The program that a user is asked for, if it is one. */
export const pluginOf = (user: PluginUser | null): string | undefined =>
  user?.authProvider?.name === PROVIDER ? printable(String(user.authProvider.config?.command), 100) : undefined

/** What a program says in its defence, without what may be a token or a key. */
const firstLine = (text: string): string => {
  const line = text.split('\n').find((each) => each.trim() !== '') ?? ''
  return printable(
    line
      .trim()
      .slice(0, 400)
      .replace(/(?<![\w+=./-])[\w+=./-]{24,}/g, '…'),
    200,
  )
}

const parseCredential = (text: string): Credential => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  const status = isMap(value) && value.kind === 'ExecCredential' && isMap(value.status) ? value.status : {}
  const { token, clientCertificateData: certificate, clientKeyData: key, expirationTimestamp } = status
  // What does not say when it ends may be over by then, and nobody would ask for another.
  const expiresAt = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Date.now() + UNTOLD_MS
  const credential = {
    ...(typeof token === 'string' && { token }),
    ...(typeof certificate === 'string' && typeof key === 'string' && { certificate, key }),
    expiresAt,
  }
  if ('token' in credential || 'certificate' in credential) return credential
  throw new Error('printed no ExecCredential with a token or a certificate and its key')
}

const environmentOf = ({ env, apiVersion }: Fields): Record<string, string | undefined> => ({
  ...process.env,
  ...Object.fromEntries((Array.isArray(env) ? env : []).filter(isMap).map(({ name, value }) => [name, `${value}`])),
  KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } }),
})

const runPlugin = (exec: Fields, limitMs: number): Promise<Credential> =>
  new Promise((resolve, reject) => {
    const args = (Array.isArray(exec.args) ? exec.args : []).map(String)
    const child = spawn(String(exec.command), args, {
      env: environmentOf(exec),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    })
    const said = { out: '', errors: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.errors = `${said.errors}${text}`.slice(0, 10_000)
    })
    child.once('error', reject)
    child.once('exit', () => {
      if (!child.killed) return
      // What it started itself may live on, and keep these open.
      child.stdout.destroy()
      child.stderr.destroy()
      reject(new Error(`did not end within ${limitMs / 1_000} s`))
    })
    child.once('close', (code, signal) => {
      const end = signal === null ? `its exit code is ${code}` : `${signal} ended it`
      if (code !== 0) return reject(new Error(`failed: ${firstLine(said.errors) || end}`))
      try {
        resolve(parseCredential(said.out))
      } catch (error) {
        reject(error)
      }
    })
  })

/** For KubeConfig.addAuthenticator. A program is run again when what it gave is over, and once for all who wait. */
export const createExecAuthenticator = (limitMs = LIMIT_MS) => {
  const given = new Map<unknown, { readonly credential: Promise<Credential>; expiresAt: number }>()
  const credentialFor = ({ name, authProvider }: PluginUser): Promise<Credential> => {
    const known = given.get(name)
    if (known !== undefined && known.expiresAt > Date.now()) return known.credential
    const credential = runPlugin(authProvider?.config ?? {}, limitMs)
    const next = { credential, expiresAt: Number.POSITIVE_INFINITY }
    given.set(name, next)
    credential.then(
      ({ expiresAt }) => {
        next.expiresAt = expiresAt
      },
      () => given.delete(name),
    )
    return credential
  }
  return {
    isAuthProvider: (user: PluginUser): boolean => user.authProvider?.name === PROVIDER,
    applyAuthentication: async (user: PluginUser, options: RequestOptions): Promise<void> => {
      const { token, certificate, key } = await credentialFor(user)
      if (token !== undefined) options.headers = { ...options.headers, Authorization: `Bearer ${token}` }
      if (certificate !== undefined) Object.assign(options, { cert: certificate, key })
    },
  }
}
