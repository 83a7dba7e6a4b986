import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { connect } from '../adapters/cluster/connect.ts'
import { kubeconfigText } from '../adapters/cluster/kubeconfig.ts'
import { OperationError } from '../core/model/operation-error.ts'

// Against a real server: test/cluster/kubeconfigs.test.ts. Here only what needs none.

const SECRET = 'a-token-that-nobody-may-see'
const SERVER = 'https://api.example.com'

const FILE = {
  clusters: [{ name: 'here', cluster: { server: SERVER } }],
  users: [{ name: 'me', user: { token: SECRET } }],
  contexts: [{ name: 'test', context: { cluster: 'here', user: 'me' } }],
  'current-context': 'test',
}

/** The code of what is refused; anything else that is thrown is a bug. */
const refusal = (text: string, context?: string): string => {
  try {
    connect(context === undefined ? {} : { context }, { WAYPOST_KUBECONFIG: text, HOME: '/nowhere' })
  } catch (thrown) {
    if (!(thrown instanceof OperationError)) throw thrown
    expect(thrown.message).toMatch(/^The kubeconfig in WAYPOST_KUBECONFIG cannot be used: .+\. .+\.$/)
    expect(thrown.message).not.toContain(SECRET)
    expect(thrown.message.length).toBeLessThan(1_000)
    return thrown.code
  }
  return 'none'
}

describe('whatever a kubeconfig is, it is taken or refused in one line', () => {
  const keys = fc.constantFrom(
    ...[
      'server',
      'token',
      'tokenFile',
      'name',
      'cluster',
      'user',
      'context',
      'exec',
      'command',
      'env',
      'auth-provider',
    ],
    ...['as', 'client-certificate', 'proxy-url', 'certificate-authority', 'toString', '__proto__'],
  )
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, 'test', 'here', 'me', '', SERVER, 0, true, '\u202e', 'https://[', '\ud800', 'http://here'),
      fc.dictionary(keys, tie('any'), { maxKeys: 4 }),
      fc.array(tie('any'), { maxLength: 3 }),
    ),
  })).any

  test('with any value in any place', () => {
    const places = ['clusters', 'users', 'contexts', 'current-context', 'cluster', 'user', 'context'] as const
    fc.assert(
      fc.property(fc.constantFrom(...places), value, (place, odd) => {
        const file = {
          ...FILE,
          ...(place === 'cluster' && { clusters: [{ name: 'here', cluster: odd }] }),
          ...(place === 'user' && { users: [{ name: 'me', user: odd }] }),
          ...(place === 'context' && { contexts: [{ name: 'test', context: odd }] }),
          [place]: odd,
        }
        expect(['none', 'KubeconfigInvalid']).toContain(refusal(JSON.stringify(file)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('with any text', () => {
    const words = fc.constantFrom('users:', 'clusters:', '- ', '\n', '  ', '&a ', '*a', '{', '}', '[', ']', ': ', '!x ')
    const text = fc.array(fc.oneof(words, fc.string({ maxLength: 5 })), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(text, (parts) => {
        if (parts.join('') !== '') expect(refusal(parts.join(''))).toBe('KubeconfigInvalid')
      }),
      { numRuns: 1_000 },
    )
  })

  test('with names that would fill a screen, or turn it around', () => {
    const contexts = Array.from({ length: 500 }, (_, index) => ({
      name: `\u202e\n\u001b[2J${index}`,
      context: { cluster: 'here' },
    }))
    expect(refusal(JSON.stringify({ ...FILE, contexts }))).toBe('KubeconfigInvalid')
    expect(refusal(JSON.stringify({ ...FILE, contexts, 'current-context': 'x'.repeat(5_000) }))).toBe(
      'KubeconfigInvalid',
    )
  })
})

test('base64 of a kubeconfig is the same kubeconfig, and what is no base64 is left as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
      const encoded = Buffer.from(text).toString('base64')
      expect(kubeconfigText(encoded)).toBe(Buffer.from(text).toString('utf8'))
      expect(kubeconfigText(`a: ${text}`)).toBe(`a: ${text}`)
    }),
  )
})

test('a password in an address is in no message', () => {
  const server = `https://me:${SECRET}@api.example.com/path/`
  const cluster = { server, 'proxy-url': `socks5://me:${SECRET}@proxy.example.com:1080` }
  const kubeconfig = JSON.stringify({ ...FILE, clusters: [{ name: 'here', cluster }] })
  expect(connect({}, { WAYPOST_KUBECONFIG: kubeconfig }).server).toBe(
    'https://api.example.com/path through socks5://proxy.example.com:1080',
  )
})
