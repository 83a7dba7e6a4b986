import { chmodSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { LIMITS as EVERY_DAY, type KubeLimits } from '../../adapters/cluster/kube-api.ts'
import { freePort } from '../daemon.ts'
import { createAuthority, issueCertificate } from './certificates.ts'
import { startConnectProxy, startSilence, startTls } from './loopback.ts'
import { startedCluster } from './started-cluster.ts'
import { type Circumstances, createWaypost } from './waypost.ts'

// Each gives one line with the server or the kubeconfig, the cause, the next step and a code; what is published stays.

const cluster = startedCluster()
const { admin, adminToken, server, ca } = cluster
const HOUR = 60 * 60 * 1_000
const [inAnHour, anHourAgo] = [new Date(Date.now() + HOUR), new Date(Date.now() - HOUR)]
const LIMITS: KubeLimits = { requestMs: 1_000, attempts: 3, firstPauseMs: 5, longestPauseMs: 20 }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const namespace = await cluster.namespaceFor(import.meta.url)
await admin.create('toolhive.stacklok.dev/v1beta1', 'mcpservers', {
  kind: 'MCPServer',
  metadata: {
    namespace,
    name: 'one',
    annotations: {
      'toolhive.stacklok.dev/registry-export': 'true',
      'toolhive.stacklok.dev/registry-url': 'https://mcp.example.com/one',
      'toolhive.stacklok.dev/registry-description': 'The server one',
    },
  },
  spec: { image: 'registry.example.com/mcp:1.0.0', transport: 'streamable-http' },
})
const configOf = (kubernetes: object = {}): string =>
  JSON.stringify({ sources: [{ name: 'cluster', kubernetes: { namespaces: [namespace], ...kubernetes } }] })

const CA = { 'certificate-authority-data': base64(ca) }
const TOKEN = { token: adminToken }

const fileOf = ({ cluster = { server, ...CA }, user = TOKEN }: { cluster?: object; user?: object } = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'here', cluster }],
  users: [{ name: 'me', user }],
  contexts: [{ name: 'test', context: { cluster: 'here', user: 'me' } }],
  'current-context': 'test',
})
const kubeconfigOf = (parts: { cluster?: object; user?: object } = {}): string => JSON.stringify(fileOf(parts))

const expired = cluster.issueCertificate({ commonName: 'late', organization: 'system:masters', notAfter: anHourAgo })
const fine = cluster.issueCertificate({ commonName: 'fine', organization: 'system:masters', notAfter: inAnHour })
const stranger = createAuthority('somebody-else')
const asUser = ({ certificate, key }: { certificate: string; key: string }) => ({
  'client-certificate-data': base64(certificate),
  'client-key-data': base64(key),
})
/** Not a real one, but nothing may tell that it is not. */
const SECRET = `eyJhbGciOiJub25lIn0.${base64('a secret that nobody may see, also not in part').replaceAll('=', '')}.c2lnbmF0dXJl`

const bodyOf = (pem: string): string => pem.split('\n')[1] ?? pem
const SECRETS = [adminToken, adminToken.slice(0, 10), SECRET.slice(0, 10), SECRET.slice(20, 40), 'hunter2'].concat(
  [expired, fine].flatMap(({ certificate, key }) => [bodyOf(certificate), bodyOf(key), base64(key).slice(40, 80)]),
)

const stops: (() => Promise<void>)[] = []
afterAll(() => Promise.all(stops.map((stop) => stop())))
const until = <T extends { readonly stop: () => Promise<void> }>(started: T): T => {
  stops.push(started.stop)
  return started
}

const folderOf = (files: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-kubeconfig-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 })
  return folder
}

/** All that lies in a store, but not what it published. */
const textsIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'utf8'))

type Failure = { readonly code: string; readonly says: readonly string[] }

/** Syncs once as it should be, then with what is broken. */
const expectFailure = async (
  kubeconfig: string,
  { code, says }: Failure,
  { config = configOf(), ...circumstances }: Circumstances & { readonly config?: string } = {},
): Promise<void> => {
  const good = createWaypost(kubeconfigOf(), configOf())
  expect((await good.run('sync')).code).toBe(0)
  const folder = good.store.slice('file:'.length)
  const pointer = () => readFileSync(join(folder, 'default', 'current.json'), 'utf8')
  const [before, entries] = [pointer(), await good.entries()]
  expect(entries).toHaveLength(1)

  const broken = createWaypost(kubeconfig, config, { limits: LIMITS, ...circumstances, store: good.store })
  const ran = await broken.run('sync')
  const lines = ran.output.split('\n').filter((line) => line.includes(`(${code})`))
  expect([ran.code, lines.length, ran.errors], ran.output).toEqual([1, 1, ''])
  for (const text of says) expect(lines[0]).toContain(text)
  expect(pointer()).toBe(before)
  expect(await broken.entries()).toEqual(entries)
  for (const secret of SECRETS)
    for (const text of [ran.output, ...textsIn(folder)]) expect(text.includes(secret), secret).toBe(false)

  // A sync that works again needs nothing else.
  expect((await good.run('sync')).code).toBe(0)
}

describe.concurrent('a sync fails in one line and leaves what is published: credentials,', () => {
  it('an expired client certificate', () =>
    expectFailure(kubeconfigOf({ user: asUser(expired) }), {
      code: 'ClientCertificateExpired',
      says: [server, 'expired on', 'Renew it'],
    }))

  it.each([
    ['that is wrong', { token: SECRET }],
    ['that is wrong, from a file', { tokenFile: join(folderOf({ token: SECRET }), 'token') }],
  ])('a token %s', (_, user) =>
    expectFailure(kubeconfigOf({ user }), {
      code: 'ClusterUnauthorized',
      says: [server, 'does not accept the credentials', 'Renew them'],
    }),
  )

  it('a password, which no server takes any more', () =>
    expectFailure(kubeconfigOf({ user: { username: 'me', password: 'hunter2' } }), {
      code: 'ClusterDiscoveryFailed',
      says: [server, 'User "system:anonymous" cannot get path', 'Check that this user'],
    }))

  it('an expired token of a service account', async () => {
    await admin.apply('v1', 'serviceaccounts', { kind: 'ServiceAccount', metadata: { namespace, name: 'late' } })
    // Bound to an object that is gone, which ends a token as its time does; ten minutes are the least that can be had.
    const name = 'bound'
    const { metadata } = await admin.create('v1', 'secrets', { kind: 'Secret', metadata: { namespace, name } })
    const { text } = await admin.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/late/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid: metadata.uid } },
    })
    await admin.remove('v1', 'secrets', { namespace, name })
    const { status }: { status: { token: string } } = JSON.parse(text)
    await expectFailure(kubeconfigOf({ user: { token: status.token } }), {
      code: 'ClusterUnauthorized',
      says: [server, 'Renew them'],
    })
  })

  it.each([
    ['a key file that is missing', { 'client-certificate': '/none/me.crt', 'client-key': '/none/me.key' }, '/none/me'],
    ['a token file that is missing', { tokenFile: '/none/token' }, '/none/token'],
    ['a token file that is empty', { tokenFile: join(folderOf({ token: '\n' }), 'token') }, 'empty'],
    ['a certificate without its key', { 'client-certificate-data': base64(fine.certificate) }, 'no key'],
    ['the key of another certificate', asUser({ ...fine, key: expired.key }), 'not that of the client certificate'],
    ['a certificate that is none', asUser({ certificate: 'hunter2', key: fine.key }), 'no PEM'],
    ['a key that is none', asUser({ certificate: fine.certificate, key: 'hunter2' }), 'no PEM'],
    ['a token of two lines', { token: 'hunter2\r\nX-Evil: 1' }, 'no token has'],
    [
      'an OIDC token that has expired and cannot be renewed',
      { 'auth-provider': { name: 'oidc', config: { 'id-token': `e30.${base64('{"exp":1}')}.c2ln` } } },
      'has expired',
    ],
    [
      'an OIDC token that has expired, with what should renew it',
      {
        'auth-provider': {
          name: 'oidc',
          config: {
            'id-token': `e30.${base64('{"exp":1}')}.c2ln`,
            'client-id': 'me',
            'refresh-token': 'hunter2',
            'idp-issuer-url': 'https://127.0.0.1:1',
          },
        },
      },
      'has expired',
    ],
    ['an OIDC token that is none', { 'auth-provider': { name: 'oidc', config: { 'id-token': 'hunter2.a.b' } } }, ''],
  ])('%s', (_, user, says) =>
    expectFailure(kubeconfigOf({ user }), {
      code: 'KubeconfigCredentialsUnusable',
      says: [server, says, 'Mend the kubeconfig'],
    }),
  )
})

describe.concurrent('a sync fails in one line and leaves what is published: a program for credentials', () => {
  const fails = (command: string, ...says: readonly string[]) =>
    expectFailure(
      kubeconfigOf({ user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command, args: [SECRET] } } }),
      { code: 'ExecPluginFailed', says: [server, command, ...says] },
    )
  const script = (text: string): string => {
    const path = join(folderOf({ plugin: `#!/bin/sh\n${text}\n` }), 'plugin')
    chmodSync(path, 0o700)
    return path
  }

  it('that is not installed', () => fails('no-such-plugin', 'is not installed', 'Install it'))
  it('that is no program', () =>
    fails(join(folderOf({ plugin: 'hunter2' }), 'plugin'), 'cannot be started', 'EACCES', 'Install it'))
  it('that fails and says why', () =>
    fails(script('echo "\nNot signed in: run login" >&2; exit 1'), 'Not signed in: run login', 'Sign in again'))
  it('that fails and says too much', () => fails(script('echo "token $1 is over" >&2; exit 1'), 'token … is over'))
  it('that fails silently', () => fails(script('exit 3'), 'its exit code is 3', 'Sign in again'))
  it.each([
    ['something else', 'echo hunter2'],
    ['nothing', 'true'],
    ['a bare token', 'echo "$1"'],
    ['an object without a status', `echo '{"kind":"ExecCredential"}'`],
    ['a status without credentials', `echo '{"kind":"ExecCredential","status":{"token":null}}'`],
  ])('that prints %s', (_, text) => fails(script(text), 'printed no ExecCredential', 'Sign in again'))
})

describe.concurrent('a sync fails in one line and leaves what is published: a server', () => {
  const at = (port: number, host = '127.0.0.1') => ({ cluster: { server: `https://${host}:${port}`, ...CA } })

  it('of an authority that the kubeconfig does not know', () =>
    expectFailure(kubeconfigOf({ cluster: { server, 'certificate-authority-data': base64(stranger.certificate) } }), {
      code: 'ClusterUntrusted',
      says: [server, 'not signed by an authority', 'Check certificate-authority'],
    }))

  it('whose authority the kubeconfig does not name', () =>
    expectFailure(kubeconfigOf({ cluster: { server } }), { code: 'ClusterUntrusted', says: [server] }))

  it('whose authority is no certificate', () =>
    expectFailure(kubeconfigOf({ cluster: { server, 'certificate-authority-data': base64('hunter2') } }), {
      code: 'ClusterUntrusted',
      says: [server, 'Check certificate-authority'],
    }))

  it.each([
    ['a program', { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'no-such-plugin' } }],
    ['OIDC', { 'auth-provider': { name: 'oidc', config: { 'id-token': 'e30.e30.c2ln' } } }],
  ])('whose authority is a file that is missing, for a user of %s', (_, user) =>
    expectFailure(kubeconfigOf({ cluster: { server, 'certificate-authority': '/none/ca.crt' }, user }), {
      code: 'KubeconfigCredentialsUnusable',
      says: [server, '/none/ca.crt', 'Mend the kubeconfig'],
    }),
  )

  it('with the certificate of another name', () => {
    const there = server.replace('127.0.0.1', 'localhost')
    return expectFailure(kubeconfigOf({ cluster: { server: there, ...CA } }), {
      code: 'ClusterUntrusted',
      says: [there, 'for another name', 'tls-server-name'],
    })
  })

  it.each([
    ['has expired', { notAfter: anHourAgo, address: '127.0.0.1' }, ['has expired', 'Renew it']],
    ['is for clients', { notAfter: inAnHour }, ['not signed by an authority', 'Check']],
  ] as const)('whose certificate %s', async (_, request, says) => {
    const serving = issueCertificate(cluster.authority, { commonName: 'test', ...request })
    const { port } = until(await startTls(serving, (_, answer) => answer.end('{}')))
    await expectFailure(kubeconfigOf(at(port)), { code: 'ClusterUntrusted', says: [String(port), ...says] })
  })

  it('that speaks no TLS', async () => {
    const { port } = until(await startConnectProxy())
    const failure = { code: 'ClusterUntrusted', says: [String(port), 'does not speak TLS', 'Check https and the port'] }
    await expectFailure(kubeconfigOf(at(port)), failure)
  })

  it('that does not listen', async () => {
    const port = await freePort()
    await expectFailure(kubeconfigOf(at(port)), {
      code: 'ClusterUnreachable',
      says: [`https://127.0.0.1:${port}`, 'nobody listens there', 'Check the address'],
    })
  })

  it('whose name nobody knows', () =>
    expectFailure(kubeconfigOf(at(443, 'none.invalid')), {
      code: 'ClusterUnreachable',
      says: ['https://none.invalid', 'the name', 'Check the address'],
    }))

  it('that hangs', async () => {
    const { port } = until(await startSilence())
    await expectFailure(kubeconfigOf(at(port)), {
      code: 'ClusterUnreachable',
      says: [`https://127.0.0.1:${port}`, 'did not answer in time', 'Check the address'],
    })
  })

  it('that hangs, with the patience of every day: a minute', async () => {
    const { port } = until(await startSilence())
    const failure = { code: 'ClusterUnreachable', says: [String(port), 'did not answer in time'] }
    await expectFailure(kubeconfigOf(at(port)), failure, { limits: EVERY_DAY })
  })

  it('that hangs after the first half of its answer', async () => {
    const serving = cluster.issueCertificate({ commonName: 'test', address: '127.0.0.1', notAfter: inAnHour })
    const { port } = until(
      await startTls(serving, (_, answer) => {
        answer.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
        answer.write('{')
      }),
    )
    await expectFailure(kubeconfigOf(at(port)), {
      code: 'ClusterUnreachable',
      says: [String(port), 'did not answer in time'],
    })
  })

  it.each([204, 304, 302, 600, 999])('that answers %i to everything', async (status) => {
    const serving = cluster.issueCertificate({ commonName: 'test', address: '127.0.0.1', notAfter: inAnHour })
    const { port } = until(
      await startTls(serving, (_, answer) => {
        answer.writeHead(status, { location: 'https://example.com/' }).end()
      }),
    )
    const code = status < 600 ? 'ClusterAnswerUnreadable' : 'ClusterAnswerUnexpected'
    await expectFailure(kubeconfigOf(at(port)), { code, says: [String(port), String(status), 'Look for a proxy'] })
  })

  it('behind a proxy that does not listen, or refuses', async () => {
    const proxied = (port: number) =>
      kubeconfigOf({ cluster: { server, ...CA, 'proxy-url': `http://me:hunter2@127.0.0.1:${port}` } })
    const [silent, refusing] = [await freePort(), until(await startConnectProxy(403))]
    await expectFailure(proxied(silent), {
      code: 'ClusterUnreachable',
      says: [`${server} through http://127.0.0.1:${silent}`, 'nobody listens there'],
    })
    await expectFailure(proxied(refusing.port), {
      code: 'ClusterUnreachable',
      says: [`${server} through http://127.0.0.1:${refusing.port}`],
    })
  })
})

describe.concurrent('a sync fails in one line and leaves what is published: a kubeconfig', () => {
  const whole = fileOf()
  const invalid = (says: readonly string[]): Failure => ({ code: 'KubeconfigInvalid', says })
  const fails = (kubeconfig: unknown, ...says: readonly string[]): Promise<void> => {
    const text = typeof kubeconfig === 'string' ? kubeconfig : JSON.stringify(kubeconfig)
    return expectFailure(text, invalid(['WAYPOST_KUBECONFIG', ...says]))
  }

  it('that is not there', async () => {
    await expectFailure('', invalid(['/none/config', 'no file', 'Name one that exists']), {
      config: configOf({ kubeconfig: '/none/config' }),
    })
    await expectFailure('', invalid(['KUBECONFIG', 'no file /none/a nor /none/b', 'Name one that exists']), {
      environment: { KUBECONFIG: '/none/a:/none/b' },
    })
  })

  it('that nobody names', () =>
    expectFailure(
      '',
      { code: 'KubeconfigMissing', says: ['WAYPOST_KUBECONFIG, KUBECONFIG or /none/.kube/config', 'Name one'] },
      { environment: { HOME: '/none' } },
    ))

  it('that is a folder', () =>
    expectFailure('', invalid(['/tmp', 'EISDIR']), { config: configOf({ kubeconfig: '/tmp' }) }))

  it.each([
    ['is no YAML', `{ token: ${SECRET}, [`],
    ['leads to no anchor', `users: *hunter2`],
    [
      'leads to too many',
      'a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]',
    ],
  ])('that %s', (_, text) => fails(text, 'not YAML', 'Write it anew'))

  it.each([
    ['text', 'hunter2 is my password'],
    ['base64 of something else', base64('hunter2 is my password')],
    ['almost base64', 'hunter2'],
    ['a list', '[]'],
    ['of another shape', '{ clusters: { a: b } }'],
    ['of odd users', '{ users: [hunter2] }'],
    ['empty', ' # nothing'],
    ['without contexts', { ...whole, contexts: [] }],
    ['of nameless things', { ...whole, clusters: [{}] }],
    ['with a number for a server', { ...whole, clusters: [{ name: 'here', cluster: { server: 5 } }] }],
  ])('that is %s', (_, kubeconfig) => fails(kubeconfig, 'kubectl config view'))

  it.each([
    ['no current-context', { ...whole, 'current-context': '' }, 'no current-context', 'Name one of test'],
    ['a current-context that is not there', { ...whole, 'current-context': 'other' }, 'other', 'There are test'],
    ['a current-context that is no name', { ...whole, 'current-context': 5 }, '5', 'There are test'],
    ['no cluster for its context', { ...whole, clusters: [] }, 'the cluster of context "test"', 'Add it'],
    ['no user for its context', { ...whole, users: [] }, 'the user of context "test"', 'Add it'],
    ['a server that is no URL', fileOf({ cluster: { server: 'hunter2' } }), 'no URL', 'Write https://'],
    ['a server of another protocol', fileOf({ cluster: { server: 'ftp://here' } }), 'no URL', 'Write https://'],
    ['a server without TLS', fileOf({ cluster: { server: 'http://here' } }), 'not https', 'Use https'],
  ] as const)('with %s', (_, kubeconfig, cause, fix) => fails(kubeconfig, cause, fix))

  it('without the context that the source names', () =>
    expectFailure(kubeconfigOf(), invalid(['WAYPOST_KUBECONFIG', '"other"', 'There are test']), {
      config: configOf({ context: 'other' }),
    }))
})
