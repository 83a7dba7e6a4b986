import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../infra/dev/cache-folder.ts'
import { type Daemon, freePort, startDaemon, stopDaemons, until } from '../daemon.ts'
import { type Admin, type Credentials, openAdmin } from './admin.ts'
import { type CertificateRequest, createAuthority, type Issued, issueCertificate } from './certificates.ts'
import type { ProvidedCluster } from './provided.ts'

// A real API server with its etcd on the loopback. No controllers: what is owned is not collected, no namespace ends.

export type Kube = ProvidedCluster & {
  readonly issueCertificate: (request: CertificateRequest) => Issued
  readonly stop: () => Promise<void>
}

const ADDRESS = '127.0.0.1'
const DAY = 24 * 60 * 60 * 1_000
const PROGRAMS = ['etcd', 'kube-apiserver']

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The folder with etcd and kube-apiserver, built on first use. */
export const prepareKube = (): string => {
  const assets = process.env.KUBEBUILDER_ASSETS
  if (assets) {
    const missing = PROGRAMS.filter((name) => !isProgram(join(assets, name)))
    if (missing.length > 0) throw new Error(`KUBEBUILDER_ASSETS is ${assets}, which has no ${missing.join(' and no ')}`)
    return assets
  }
  const folder = cacheFolder('kubernetes-1.20.2')
  const script = new URL('../../infra/dev/kubernetes.sh', import.meta.url).pathname
  const { status } = spawnSync('bash', [script, folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0)
    throw new Error(
      'Kubernetes could not be built; the lines above say why. KUBEBUILDER_ASSETS may name a folder with one',
    )
  return join(folder, 'bin')
}

/** In JSON, which is YAML. */
export const renderKubeconfig = ({ server, ca }: { server: string; ca: string }, credentials: Credentials): string => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const user =
    'certificate' in credentials
      ? { 'client-certificate-data': base64(credentials.certificate), 'client-key-data': base64(credentials.key) }
      : credentials
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  })
}

const etcdArguments = (state: string, client: string, peer: string): readonly string[] => [
  ...['--data-dir', join(state, 'etcd'), '--unsafe-no-fsync'],
  ...['--listen-client-urls', client, '--advertise-client-urls', client],
  ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
]

type Files = Readonly<Record<'ca' | 'certificate' | 'key' | 'tokens' | 'accountKey' | 'accountPublicKey', string>>

const serverArguments = (state: string, files: Files, port: number, etcd: string): readonly string[] => [
  `--etcd-servers=${etcd}`,
  ...[`--bind-address=${ADDRESS}`, `--advertise-address=${ADDRESS}`, `--secure-port=${port}`, `--cert-dir=${state}`],
  ...[`--tls-cert-file=${files.certificate}`, `--tls-private-key-file=${files.key}`],
  ...[`--client-ca-file=${files.ca}`, `--token-auth-file=${files.tokens}`, '--authorization-mode=RBAC'],
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-signing-key-file=${files.accountKey}`,
  `--service-account-key-file=${files.accountPublicKey}`,
  // Nothing makes the account `default`, without which that plugin lets no pod in.
  '--disable-admission-plugins=ServiceAccount',
  ...['--service-cluster-ip-range=10.0.0.0/24', '--endpoint-reconciler-type=none'],
]

const writeFiles = (state: string, authority: Issued, adminToken: string): Files => {
  const account = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  const notAfter = new Date(Date.now() + DAY)
  const serving = issueCertificate(authority, { commonName: 'kube-apiserver', address: ADDRESS, notAfter })
  const write = (name: string, text: string): string => {
    writeFileSync(join(state, name), text, { mode: 0o600 })
    return join(state, name)
  }
  return {
    ca: write('ca.crt', authority.certificate),
    certificate: write('server.crt', serving.certificate),
    key: write('server.key', serving.key),
    tokens: write('tokens.csv', `${adminToken},admin,admin,"system:masters"\n`),
    accountKey: write('account.key', account.privateKey),
    accountPublicKey: write('account.pub', account.publicKey),
  }
}

/** What is not up yet refuses; anything else that goes wrong on the way is told. */
const isReady = async (admin: Admin): Promise<boolean> => {
  try {
    // It calls itself ready a moment before it has made the first namespaces.
    const paths = ['/readyz', '/api/v1/namespaces/default']
    const answers = await Promise.all(paths.map((path) => admin.request('GET', path)))
    return answers.every(({ status }) => status === 200)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return false
    throw thrown
  }
}

/** `arguments` are further ones for the API server; of one given twice the last counts. */
export const startKube = async (options: { readonly arguments?: readonly string[] } = {}): Promise<Kube> => {
  const programs = prepareKube()
  const state = mkdtempSync(join(tmpdir(), 'waypost-kube-'))
  const daemons: Daemon[] = []
  const stop = async (): Promise<void> => {
    await stopDaemons(daemons)
    rmSync(state, { recursive: true, force: true })
  }
  try {
    const start = (name: string, args: readonly string[]): unknown =>
      daemons.push(startDaemon(name, join(state, `${name}.out`), [join(programs, name), ...args]))
    const [clientPort, peerPort, port] = await Promise.all([freePort(), freePort(), freePort()])
    const etcd = `http://${ADDRESS}:${clientPort}`
    start('etcd', etcdArguments(state, etcd, `http://${ADDRESS}:${peerPort}`))

    const authority = createAuthority('waypost-test-ca')
    const adminToken = randomBytes(16).toString('hex')
    const files = writeFiles(state, authority, adminToken)
    start('kube-apiserver', [...serverArguments(state, files, port, etcd), ...(options.arguments ?? [])])

    const [server, ca] = [`https://${ADDRESS}:${port}`, authority.certificate]
    const admin = openAdmin({ server, ca }, { token: adminToken })
    await until('the start of the API server', daemons, () => isReady(admin))
    const adminKubeconfig = join(state, 'kubeconfig')
    writeFileSync(adminKubeconfig, renderKubeconfig({ server, ca }, { token: adminToken }), { mode: 0o600 })
    return {
      ...{ server, ca, caFile: files.ca, adminToken, adminKubeconfig, authority, stop },
      issueCertificate: (request) => issueCertificate(authority, request),
    }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}
