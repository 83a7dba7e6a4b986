import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { stringify } from 'yaml'
import { connect } from '../../adapters/cluster/connect.ts'
import { createExecAuthenticator, execProvider } from '../../adapters/cluster/exec-plugin.ts'
import { createForwarder, startConnectProxy, startTls } from './loopback.ts'
import { startedCluster } from './started-cluster.ts'
import { type Circumstances, createWaypost } from './waypost.ts'

const cluster = startedCluster()
const { admin, adminToken, server, ca, caFile } = cluster
const HOUR = 60 * 60 * 1_000
const inAnHour = new Date(Date.now() + HOUR)
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const exportServer = async (namespace: string, name: string): Promise<string> => {
  await admin.create('toolhive.stacklok.dev/v1beta1', 'mcpservers', {
    kind: 'MCPServer',
    metadata: {
      namespace,
      name,
      annotations: {
        'toolhive.stacklok.dev/registry-export': 'true',
        'toolhive.stacklok.dev/registry-url': `https://mcp.example.com/${name}`,
        'toolhive.stacklok.dev/registry-description': `The server ${name}`,
      },
    },
    spec: { image: 'registry.example.com/mcp:1.0.0', transport: 'streamable-http' },
  })
  return `dev.stacklok.toolhive/${namespace}.${name}`
}

const namespace = await cluster.namespaceFor(import.meta.url)
const SERVERS = [await exportServer(namespace, 'one'), await exportServer(namespace, 'two')]
const sourceOf = (kubernetes: object = {}, name = 'cluster') => ({
  name,
  kubernetes: { namespaces: [namespace], ...kubernetes },
})
const configOf = (...sources: readonly object[]): string => JSON.stringify({ sources })
const CONFIG = configOf(sourceOf())

type Parts = { readonly cluster?: object; readonly user?: object; readonly name?: string }

const CA = { 'certificate-authority-data': base64(ca) }

const fileOf = ({ cluster = { server, ...CA }, user, name = 'test' }: Parts) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name, cluster }],
  users: user === undefined ? [] : [{ name, user }],
  contexts: [{ name, context: { cluster: name, ...(user !== undefined && { user: name }) } }],
  'current-context': name,
})
const kubeconfigOf = (parts: Parts): string => JSON.stringify(fileOf(parts))

const folderOf = (files: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-kubeconfig-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 })
  return folder
}

const listed = async (waypost: ReturnType<typeof createWaypost>): Promise<readonly string[]> => {
  const { code, output, errors } = await waypost.run('sync')
  if (code !== 0) throw new Error(`exit ${code}: ${output}${errors}`)
  return (await waypost.entries()).map(({ server }) => server.name).sort()
}

const expectWorks = async (kubeconfig: string, config = CONFIG, circumstances: Circumstances = {}): Promise<void> => {
  expect(await listed(createWaypost(kubeconfig, config, circumstances))).toEqual(SERVERS)
}
/** Without WAYPOST_KUBECONFIG, and without what this machine may have. */
const expectWorksBy = (environment: Readonly<Record<string, string>>, config = CONFIG, root = ''): Promise<void> =>
  expectWorks('', config, { root, environment: { HOME: '/nowhere', ...environment } })

const expectFileWorks = (folder: string): Promise<void> =>
  expectWorks('', configOf(sourceOf({ kubeconfig: join(folder, 'config') })))

const statusOf = async (connection: ReturnType<typeof connect>): Promise<number> => {
  const response = await connection.fetch('/api/v1/namespaces/default')
  await response.arrayBuffer()
  return response.status
}

const stops: (() => unknown)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))
afterEach(() => vi.useRealTimers())

const someone = cluster.issueCertificate({
  commonName: 'someone',
  organization: 'system:masters',
  notAfter: inAnHour,
})
const token = { token: adminToken }

describe('a client certificate', () => {
  it('lets in as data', () =>
    expectWorks(
      kubeconfigOf({
        user: {
          'client-certificate-data': base64(someone.certificate),
          'client-key-data': base64(someone.key),
        },
      }),
    ))

  it('lets in as files, which lie beside the kubeconfig', () =>
    expectFileWorks(
      folderOf({
        config: kubeconfigOf({ user: { 'client-certificate': 'me.crt', 'client-key': 'me.key' } }),
        'me.crt': someone.certificate,
        'me.key': someone.key,
      }),
    ))

  it('that is renewed in its file is used, by the same connection', async () => {
    const nobody = cluster.issueCertificate({ commonName: 'nobody', notAfter: inAnHour })
    const folder = folderOf({
      config: kubeconfigOf({ user: { 'client-certificate': 'me.crt', 'client-key': 'me.key' } }),
      'me.crt': nobody.certificate,
      'me.key': nobody.key,
    })
    const connection = connect({ kubeconfig: join(folder, 'config') }, {})
    expect(await statusOf(connection)).toBe(403)
    writeFileSync(join(folder, 'me.crt'), someone.certificate)
    writeFileSync(join(folder, 'me.key'), someone.key)
    expect(await statusOf(connection)).toBe(200)
  })
})

describe('a token', () => {
  it('lets in', () => expectWorks(kubeconfigOf({ user: token })))

  it('lets in with white space around it', () => expectWorks(kubeconfigOf({ user: { token: `${adminToken}\n` } })))

  it('lets in from a file, which may end in a newline', () => {
    const folder = folderOf({ token: `${adminToken}\n` })
    return expectWorks(kubeconfigOf({ user: { tokenFile: join(folder, 'token') } }))
  })

  it('lets in from a file beside the kubeconfig, which counts more than a token in it', () =>
    expectFileWorks(
      folderOf({ token: adminToken, config: kubeconfigOf({ user: { tokenFile: 'token', token: 'an-old-one' } }) }),
    ))

  it('that is renewed in its file is used within a minute, by the same connection', async () => {
    const folder = folderOf({ token: 'an-old-one', config: kubeconfigOf({ user: { tokenFile: 'token' } }) })
    const access = { kubeconfig: join(folder, 'config') }
    const connection = connect(access, {})
    expect(await statusOf(connection)).toBe(401)
    writeFileSync(join(folder, 'token'), adminToken)
    expect(await statusOf(connect(access, {}))).toBe(200)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    expect(await statusOf(connection)).toBe(200)
  })

  it('of an OIDC provider is sent while it has not expired', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const idToken = `${part({ alg: 'RS256' })}.${part({ exp: Math.floor(inAnHour.getTime() / 1_000) })}.c2ln`
    const seen: (string | undefined)[] = []
    const serving = cluster.issueCertificate({ commonName: 'test', address: '127.0.0.1', notAfter: inAnHour })
    const { port, stop } = await startTls(serving, (incoming, answer) => {
      seen.push(incoming.headers.authorization)
      answer.end('{}')
    })
    stops.push(stop)
    const user = {
      'auth-provider': { name: 'oidc', config: { 'id-token': idToken, 'client-id': 'me', 'idp-issuer-url': 'none' } },
    }
    const kubeconfig = kubeconfigOf({ cluster: { server: `https://127.0.0.1:${port}`, ...CA }, user })
    expect(await statusOf(connect({}, { WAYPOST_KUBECONFIG: kubeconfig }))).toBe(200)
    expect(seen).toEqual([`Bearer ${idToken}`])
    expect(await statusOf(connect({}, { WAYPOST_KUBECONFIG: kubeconfigOf({ user }) }))).toBe(401)
  })

  it('lets in through a service account of a pod', async () => {
    const root = folderOf({})
    const folder = join(root, 'var/run/secrets/kubernetes.io/serviceaccount')
    mkdirSync(folder, { recursive: true })
    for (const [name, text] of Object.entries({ token: adminToken, 'ca.crt': ca, namespace }))
      writeFileSync(join(folder, name), text)
    const { hostname, port } = new URL(server)
    const variables = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    try {
      await expectWorksBy(variables, CONFIG, root)
    } finally {
      vi.unstubAllEnvs()
    }
  })
})

describe('a program', () => {
  /** A plugin in JavaScript; each of its runs is a line in `runs`. */
  const pluginOf = (body: string): { readonly folder: string; readonly exec: object } => {
    const folder = folderOf({ runs: '' })
    const script = join(folder, 'plugin.cjs')
    writeFileSync(
      script,
      `#!${process.execPath}
const { appendFileSync, readFileSync } = require('node:fs')
appendFileSync(${JSON.stringify(join(folder, 'runs'))}, (process.env.KUBERNETES_EXEC_INFO ?? '') + '\\n')
const print = (status) => console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }))
${body}`,
    )
    chmodSync(script, 0o700)
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [script] }
    return { folder, exec }
  }
  const runsOf = (folder: string): readonly string[] => readFileSync(join(folder, 'runs'), 'utf8').trimEnd().split('\n')

  it('that prints a token lets in; it gets its arguments and variables, and is run once', async () => {
    const { exec, folder } = pluginOf(`print({ token: process.env.MY_TOKEN + process.argv[2] + '\\n' })`)
    const half = adminToken.length / 2
    const more = {
      args: [...(exec as { args: string[] }).args, adminToken.slice(half)],
      env: [{ name: 'MY_TOKEN', value: adminToken.slice(0, half) }],
    }
    await expectWorks(kubeconfigOf({ user: { exec: { ...exec, ...more } } }))
    const told = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', spec: { interactive: false } }
    expect(runsOf(folder).map((line) => JSON.parse(line))).toEqual([told])
  })

  it('that prints a client certificate lets in', async () => {
    const { exec } = pluginOf(
      `print({ clientCertificateData: ${JSON.stringify(someone.certificate)}, clientKeyData: ${JSON.stringify(someone.key)} })`,
    )
    await expectWorks(kubeconfigOf({ user: { exec } }))
  })

  it('beside the kubeconfig is found there', async () => {
    const { folder } = pluginOf(`print({ token: ${JSON.stringify(adminToken)} })`)
    writeFileSync(
      join(folder, 'config'),
      kubeconfigOf({ user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin.cjs' } } }),
    )
    await expectFileWorks(folder)
  })

  it('is run again when what it gave is over, once for all who wait', async () => {
    const { exec, folder } = pluginOf(
      `print({ token: ${JSON.stringify(adminToken)}, expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString() })`,
    )
    const connection = connect({}, { WAYPOST_KUBECONFIG: kubeconfigOf({ user: { exec } }) })
    const askThree = () => Promise.all([1, 2, 3].map(() => statusOf(connection)))
    expect([await askThree(), await askThree()]).toEqual([
      [200, 200, 200],
      [200, 200, 200],
    ])
    expect(runsOf(folder)).toHaveLength(1)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * HOUR })
    await statusOf(connection)
    expect(runsOf(folder)).toHaveLength(2)
  })

  it('that waits for somebody is not waited for', async () => {
    const { exec } = pluginOf('setInterval(() => {}, 1_000)')
    const user = { name: 'test', authProvider: execProvider(exec as Record<string, unknown>) }
    const plugin = createExecAuthenticator(500)
    await expect(plugin.applyAuthentication(user, {})).rejects.toThrow('did not end within 0.5 s')
  })
})

describe('a cluster', () => {
  it('is known by its authority from a file', () =>
    expectFileWorks(
      folderOf({
        'ca.crt': readFileSync(caFile, 'utf8'),
        config: kubeconfigOf({ cluster: { server, 'certificate-authority': 'ca.crt' }, user: token }),
      }),
    ))

  it('is believed without an authority only where the kubeconfig says so', () =>
    expectWorks(kubeconfigOf({ cluster: { server, 'insecure-skip-tls-verify': true }, user: token })))

  it('is known by another name where the kubeconfig says so', async () => {
    const serving = cluster.issueCertificate({ commonName: 'test', host: 'api.example.com', notAfter: inAnHour })
    const { forward, stop: stopForwarding } = createForwarder(cluster)
    const { port, stop } = await startTls(serving, async ({ url = '', headers }, answer) => {
      const { status, headers: own, body } = await forward(url, headers.authorization)
      answer.writeHead(status, own).end(body)
    })
    stops.push(stop, stopForwarding)
    const at = { server: `https://127.0.0.1:${port}`, ...CA, 'tls-server-name': 'api.example.com' }
    await expectWorks(kubeconfigOf({ cluster: at, user: token }))
  })

  it('is reached through a proxy, with one connection for all requests', async () => {
    const { asked, port, stop } = await startConnectProxy()
    stops.push(stop)
    const at = { server, ...CA, 'proxy-url': `http://me:secret@127.0.0.1:${port}` }
    await expectWorks(kubeconfigOf({ cluster: at, user: token }))
    const authorization = `Basic ${base64('me:secret')}`
    expect(asked[0]).toEqual({ to: server.slice('https://'.length), authorization })
    // As many as are asked at the same time.
    expect(asked.length).toBeLessThanOrEqual(8)
  })

  it('is reached below a path', async () => {
    const serving = cluster.issueCertificate({ commonName: 'test', address: '127.0.0.1', notAfter: inAnHour })
    const { forward, stop: stopForwarding } = createForwarder(cluster)
    const { port, stop } = await startTls(serving, async ({ url = '', headers }, answer) => {
      const prefix = '/k8s/clusters/c-1'
      if (!url.startsWith(`${prefix}/api`)) return void answer.writeHead(404).end('<html>')
      const { status, headers: own, body } = await forward(url.slice(prefix.length), headers.authorization)
      answer.writeHead(status, own).end(body)
    })
    stops.push(stop, stopForwarding)
    for (const end of ['', '/'])
      await expectWorks(
        kubeconfigOf({ cluster: { server: `https://127.0.0.1:${port}/k8s/clusters/c-1${end}`, ...CA }, user: token }),
      )
  })

  it('is asked in the name of another user, who needs rights of his own', async () => {
    const kubeconfig = kubeconfigOf({ user: { ...token, as: `reader-of-${namespace}` } })
    const config = configOf(sourceOf({ gatewayApi: false }))
    const { code, output } = await createWaypost(kubeconfig, config).run('sync')
    expect([code, output]).toEqual([1, expect.stringContaining('mcpservers')])
    const rbac = 'rbac.authorization.k8s.io'
    const metadata = { namespace, name: 'reader' }
    await admin.create(`${rbac}/v1`, 'roles', {
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['toolhive.stacklok.dev'], resources: ['*'], verbs: ['list'] }],
    })
    await admin.create(`${rbac}/v1`, 'rolebindings', {
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: `reader-of-${namespace}` }],
    })
    await expect.poll(async () => (await createWaypost(kubeconfig, config).run('sync')).code).toBe(0)
    await expectWorks(kubeconfig, config)
  })
})

describe('which kubeconfig', () => {
  const good = fileOf({ user: token })

  it('WAYPOST_KUBECONFIG may be YAML', () => expectWorks(stringify(good)))

  it('WAYPOST_KUBECONFIG may be in base64, in one line or in many, whatever language its names are in', async () => {
    const text = kubeconfigOf({ user: token, name: 'Zürich-本番' })
    await expectWorks(base64(text))
    const config = configOf(sourceOf({ context: 'Zürich-本番' }))
    await expectWorks(`${base64(text).replaceAll(/.{76}/g, '$&\n')}\n`, config)
  })

  it('WAYPOST_KUBECONFIG counts more than KUBECONFIG, and that more than the one at home', async () => {
    const folder = folderOf({ good: JSON.stringify(good), bad: 'no kubeconfig' })
    const [right, wrong] = [join(folder, 'good'), join(folder, 'bad')]
    await expectWorksBy({ WAYPOST_KUBECONFIG: JSON.stringify(good), KUBECONFIG: wrong })
    const home = folderOf({})
    mkdirSync(join(home, '.kube'))
    writeFileSync(join(home, '.kube', 'config'), 'no kubeconfig')
    await expectWorksBy({ KUBECONFIG: right, HOME: home })
    writeFileSync(join(home, '.kube', 'config'), JSON.stringify(good))
    await expectWorksBy({ HOME: home })
    const config = configOf(sourceOf({ kubeconfig: right }))
    await expectWorksBy({ WAYPOST_KUBECONFIG: 'none', KUBECONFIG: wrong }, config)
  })

  it('of several files of KUBECONFIG the first counts in each thing, and those that are not there are none', async () => {
    const wrong = fileOf({ cluster: { server: 'https://127.0.0.1:1' }, user: { token: 'wrong' } })
    const folder = folderOf({
      clusters: JSON.stringify({ clusters: good.clusters, users: null }),
      users: JSON.stringify({ kind: 'Config', users: good.users }),
      empty: '',
      wrong: JSON.stringify({
        ...wrong,
        contexts: [...good.contexts, { name: 'other', context: { cluster: 'test' } }],
      }),
    })
    const files = ['missing', 'empty', 'clusters', 'users', 'wrong', 'missing-too'].map((name) => join(folder, name))
    await expectWorksBy({ KUBECONFIG: files.join(':') })
    await expectWorksBy({ KUBECONFIG: `:${files.join('::')}:` })
  })

  it('a source may name its context', () => {
    const wrong = fileOf({ cluster: { server: 'https://127.0.0.1:1' }, user: { token: 'wrong' }, name: 'wrong' })
    const several = {
      ...wrong,
      clusters: [...wrong.clusters, ...good.clusters],
      users: [...wrong.users, ...good.users],
      contexts: [...wrong.contexts, ...good.contexts],
    }
    return expectWorks(JSON.stringify(several), configOf(sourceOf({ context: 'test' })))
  })

  it('two sources of two contexts give one registry', async () => {
    const elsewhere = await cluster.namespaceFor(import.meta.url)
    const third = await exportServer(elsewhere, 'three')
    const other = fileOf({
      user: { 'client-certificate-data': base64(someone.certificate), 'client-key-data': base64(someone.key) },
      name: 'other',
    })
    const several = {
      ...good,
      clusters: [...good.clusters, ...other.clusters],
      users: [...good.users, ...other.users],
      contexts: [...good.contexts, ...other.contexts],
    }
    const config = configOf(
      sourceOf({ context: 'test' }, 'first'),
      sourceOf({ context: 'other', namespaces: [elsewhere] }, 'second'),
    )
    const waypost = createWaypost(JSON.stringify(several), config)
    expect(await listed(waypost)).toEqual([...SERVERS, third].sort())
  })
})
