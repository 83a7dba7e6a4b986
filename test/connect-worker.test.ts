import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { connectWorker } from '../adapters/cluster/connect-worker.ts'
import { OperationError } from '../core/model/operation-error.ts'

const SECRET = 'a-token-that-nobody-may-see'
const SERVER = 'https://api.example.com'

type Parts = { readonly cluster?: object; readonly user?: object }

const fileOf = ({ cluster = {}, user = {} }: Parts = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'here', cluster: { server: SERVER, ...cluster } }],
  users: [{ name: 'me', user: { token: SECRET, ...user } }],
  contexts: [{ name: 'test', context: { cluster: 'here', user: 'me' } }],
  'current-context': 'test',
})

type Call = { readonly url: string; readonly init: RequestInit | undefined }

const connected = (text: string, context?: string) => {
  const calls: Call[] = []
  const connection = connectWorker(text, context, async (url, init) => {
    calls.push({ url: String(url), init })
    return new Response('{}')
  })
  return { connection, calls }
}

/** The code of the refusal; anything else that is thrown is a bug. */
const refusal = (text: string, context?: string): string => {
  try {
    connected(text, context)
  } catch (thrown) {
    if (!(thrown instanceof OperationError)) throw thrown
    expect(thrown.message).toMatch(/^A Worker cannot use this kubeconfig: .+\. .+\.$/)
    expect(thrown.message).not.toContain(SECRET)
    return thrown.code
  }
  return 'none'
}
const refusalOf = (parts: Parts): string => refusal(JSON.stringify(fileOf(parts)))

describe('a token and a public name', () => {
  test('give a connection that sends the token to that server', async () => {
    const { connection, calls } = connected(JSON.stringify(fileOf()))
    const signal = new AbortController().signal
    await connection.fetch('/apis?a=b', { headers: { accept: 'application/json' }, signal })
    await connection.fetch('/api', { method: 'POST', body: '{}' })
    const authorization = `Bearer ${SECRET}`
    expect(calls).toEqual([
      {
        url: `${SERVER}/apis?a=b`,
        init: { redirect: 'manual', signal, headers: { accept: 'application/json', authorization } },
      },
      { url: `${SERVER}/api`, init: { redirect: 'manual', method: 'POST', body: '{}', headers: { authorization } } },
    ])
    expect(connection).toMatchObject({ server: SERVER, context: 'test' })
  })

  test.each([
    ['a port and a path', 'https://api.example.com:6443/k8s/c-1/', 'https://api.example.com:6443/k8s/c-1'],
    ['a password, which is left out', `https://me:${SECRET}@api.example.com`, SERVER],
    ['a question and a place, which are left out', `${SERVER}?a=b#c`, SERVER],
  ])('may have %s', async (_, server, root) => {
    const { connection, calls } = connected(JSON.stringify(fileOf({ cluster: { server } })))
    await connection.fetch('/apis')
    expect([connection.server, calls[0]?.url]).toEqual([root, `${root}/apis`])
  })

  test('may be YAML, and the token may end in a newline', async () => {
    const { connection, calls } = connected(`
current-context: test
contexts: [{ name: test, context: { cluster: here, user: me } }]
clusters: [{ name: here, cluster: { server: ${SERVER}, insecure-skip-tls-verify: false } }]
users:
- name: me
  user:
    token: |
      ${SECRET}
`)
    await connection.fetch('/apis')
    expect(calls[0]?.init?.headers).toEqual({ authorization: `Bearer ${SECRET}` })
  })

  test('are those of the context that is asked for', async () => {
    const file = fileOf()
    const several = {
      ...file,
      users: [...file.users, { name: 'other', user: { token: 'another' } }],
      contexts: [...file.contexts, { name: 'second', context: { cluster: 'here', user: 'other' } }],
    }
    const { connection, calls } = connected(JSON.stringify(several), 'second')
    await connection.fetch('/apis')
    expect(connection.context).toBe('second')
    expect(calls[0]?.init?.headers).toEqual({ authorization: 'Bearer another' })
  })
})

describe('what a Worker cannot honour is refused by its code', () => {
  test.each<[string, string, object]>([
    ['an authority', 'WorkerCertificateAuthority', { 'certificate-authority-data': SECRET }],
    ['an authority in a file', 'WorkerCertificateAuthority', { 'certificate-authority': '/ca.crt' }],
    ['that nobody is believed', 'WorkerInsecure', { 'insecure-skip-tls-verify': true }],
    ['another server name', 'WorkerServerName', { 'tls-server-name': 'other.example.com' }],
    ['a proxy', 'WorkerProxy', { 'proxy-url': 'http://proxy.example.com' }],
    ['http', 'WorkerPlainHttp', { server: 'http://api.example.com' }],
    ['an IPv4 address', 'WorkerIpAddress', { server: 'https://192.0.2.1:6443' }],
    ['an IPv4 address in hexadecimal', 'WorkerIpAddress', { server: 'https://0x7f000001' }],
    ['an IPv4 address with a dot at its end', 'WorkerIpAddress', { server: 'https://192.0.2.1.' }],
    ['an IPv6 address', 'WorkerIpAddress', { server: 'https://[2001:db8::1]:6443' }],
    ['a server that is no URL', 'KubeconfigInvalid', { server: 'api.example.com' }],
    ['a server that is no text', 'KubeconfigInvalid', { server: { toString: 1 } }],
    ['no server', 'KubeconfigInvalid', { server: null }],
  ])('%s: %s', (_, code, cluster) => {
    expect(refusalOf({ cluster })).toBe(code)
  })

  test.each<[string, string, object]>([
    ['a client certificate', 'WorkerClientCertificate', { 'client-certificate-data': SECRET }],
    ['a client certificate in a file', 'WorkerClientCertificate', { 'client-certificate': '/me.crt' }],
    ['a client key', 'WorkerClientCertificate', { 'client-key-data': SECRET }],
    ['a client key in a file', 'WorkerClientCertificate', { 'client-key': '/me.key' }],
    ['a program', 'WorkerExec', { exec: { command: 'aws' }, token: undefined }],
    ['an auth provider', 'WorkerAuthProvider', { 'auth-provider': { name: 'oidc' } }],
    ['a token file', 'WorkerTokenFile', { tokenFile: '/token' }],
    ['a password', 'WorkerPassword', { username: 'me', password: SECRET }],
    ['another user', 'WorkerImpersonation', { as: 'somebody' }],
    ['other groups', 'WorkerImpersonation', { 'as-groups': ['some'] }],
    ['no token', 'WorkerTokenMissing', { token: undefined }],
    ['an empty token', 'WorkerTokenMissing', { token: ' \n' }],
    ['a token that is no text', 'WorkerTokenMissing', { token: 5 }],
    ['a token with another header in it', 'WorkerTokenMissing', { token: `${SECRET}\r\nx-evil: 1` }],
  ])('%s: %s', (_, code, user) => {
    expect(refusalOf({ user })).toBe(code)
  })

  test.each([
    ['broken YAML', `{ token: ${SECRET}, [`],
    ['an alias without an anchor', 'users: *none'],
    ['text', SECRET],
    ['nothing', ''],
    ['a list', '[]'],
    ['a context that is not there', JSON.stringify({ ...fileOf(), 'current-context': 'none' })],
    ['no current-context', JSON.stringify({ ...fileOf(), 'current-context': undefined })],
    ['a current-context that is no text', JSON.stringify({ ...fileOf(), 'current-context': { toString: 1 } })],
    ['no cluster', JSON.stringify({ ...fileOf(), clusters: null })],
    ['no user', JSON.stringify({ ...fileOf(), users: {} })],
    ['things without names', JSON.stringify({ ...fileOf(), contexts: [null, 5, [], {}] })],
  ])('%s: KubeconfigInvalid', (_, text) => {
    expect(refusal(text)).toBe('KubeconfigInvalid')
  })

  test('a context that is not there, though another is current', () => {
    expect(refusal(JSON.stringify(fileOf()), 'none')).toBe('KubeconfigInvalid')
  })
})

describe('whatever a kubeconfig is, it connects or is refused', () => {
  const keys = fc.constantFrom(
    ...['server', 'token', 'name', 'cluster', 'user', 'context', 'exec', 'as', 'toString', 'valueOf', '__proto__'],
  )
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, 'test', 'here', 'me', '', SERVER, 'a token', 0, true, '\u202e', 'https://[', '\ud800'),
      fc.dictionary(keys, tie('any'), { maxKeys: 4 }),
      fc.array(tie('any'), { maxLength: 3 }),
    ),
  })).any

  test('with any value in any place', () => {
    const places = ['clusters', 'users', 'contexts', 'current-context', 'cluster', 'user', 'context'] as const
    fc.assert(
      fc.property(fc.constantFrom(...places), value, fc.option(value), (place, odd, context) => {
        const file = {
          ...fileOf(),
          ...(place === 'cluster' && { clusters: [{ name: 'here', cluster: odd }] }),
          ...(place === 'user' && { users: [{ name: 'me', user: odd }] }),
          ...(place === 'context' && { contexts: [{ name: 'test', context: odd }] }),
          [place]: odd,
        }
        refusal(JSON.stringify(file), typeof context === 'string' ? context : undefined)
      }),
      { numRuns: 2_000 },
    )
  })

  test('with any text', () => {
    const words = fc.constantFrom(
      ...['users:', 'clusters:', '- ', '\n', '  ', '&a ', '*a', '{', '}', '[', ']', ': ', '!x '],
    )
    const text = fc.array(fc.oneof(words, fc.string({ maxLength: 5 })), { maxLength: 30 })
    fc.assert(
      fc.property(text, (parts) => {
        refusal(parts.join(''))
      }),
      { numRuns: 2_000 },
    )
  })

  test('and nothing of it is in a warning', async () => {
    const warnings: Error[] = []
    const listen = (warning: Error): unknown => warnings.push(warning)
    process.on('warning', listen)
    refusal(`users: !unknown ${SECRET}`)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', listen)
    expect(warnings).toEqual([])
  })
})
