import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import { afterAll, describe, expect, test } from 'vitest'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { createApi } from '../functions/api/api.ts'
import { listen } from '../functions/entry/node.ts'
import { answerClientErrors } from '../functions/entry/refusals.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'
import { openPublishing, servers } from './publishing.ts'

// Bytes on a socket, against the server that `waypost serve` starts: what no client library would send.

const stops: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

/** Ends by the handlers that it set for signals, without one: those would reach the tests too. */
const start = async (app: Hono): Promise<number> => {
  const others = process.listeners('SIGTERM')
  const { port, closed } = await listen(app, '127.0.0.1', 0)
  const own = process.listeners('SIGTERM').filter((each) => !others.includes(each))
  stops.push(async () => {
    for (const stop of own) stop('SIGTERM')
    await closed
  })
  return port
}

const store = openMemoryStore()
const publishing = openPublishing(store)
await publishing.sync(0, servers(20))
const port = await start(createApi(createReader(store, clockAt(publishing.now)), { compresses: true }))

type Sent = string | Uint8Array

/** Sends parts one after the other and reads until the server closes. */
const send = (to: number, parts: readonly Sent[], pause = 0): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(to, '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      answer += text
    })
    socket.on('close', () => resolve(answer))
    // Who closes while we still write may reset the connection; what came before that counts.
    socket.on('error', (error) => (answer === '' ? reject(error) : undefined))
    const write = async (): Promise<void> => {
      for (const part of parts) {
        if (!socket.writable) return
        socket.write(part)
        if (pause > 0) await sleep(pause)
      }
    }
    void write()
  })

const get = (target: string, headers = '', method = 'GET'): string =>
  `${method} ${target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n${headers}\r\n`
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1])
const bodyOf = (answer: string): Record<string, unknown> =>
  JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1))

const expectProblem = (answer: string, status: number): void => {
  expect(statusOf(answer), answer.slice(0, 100)).toBe(status)
  expect(answer).toMatch(/\r\naccess-control-allow-origin: \*\r\n/i)
  expect(answer).toMatch(/\r\ncontent-type: application\/json\r\n/i)
  const text = expect.stringMatching(/./)
  expect(bodyOf(answer)).toEqual({ title: text, status, detail: text, error: text, code: text })
}

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1')

describe('what never reaches the app is refused with a body', () => {
  test.each<[string, Sent, number]>([
    ['a large header', get('/healthz', `X: ${'a'.repeat(20_000)}\r\n`), 431],
    ['a header of a megabyte', get('/healthz', `X: ${'a'.repeat(1_000_000)}\r\n`), 431],
    ['many headers', get('/healthz', Array.from({ length: 3000 }, (_, index) => `A${index}: 1\r\n`).join('')), 431],
    ['a URL of a megabyte', get(`/${'a'.repeat(1_000_000)}`), 431],
    ['a long URL', get(`/${'a'.repeat(10_000)}`), 414],
    ['an unknown method', get('/', '', 'BREW'), 400],
    ['a method in lower case', get('/', '', 'get'), 400],
    ['a method that is a property of every object', get('/', '', '__proto__'), 400],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a TLS greeting', new Uint8Array([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), 400],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['HTTP/9.9', 'GET / HTTP/9.9\r\n\r\n', 400],
    ['NUL in a path', get('/\0'), 400],
    ['NUL in a header', get('/healthz', 'X: \0\r\n'), 400],
    ['bytes above ASCII', latin1(get('/v0.1/servers?search=\xff\xfe')), 400],
    ['a space in a path', get('/a b'), 400],
    ['no slash in front', get('healthz'), 400],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a Host that is none', 'GET /healthz HTTP/1.1\r\nHost: a b/c?x\r\nConnection: close\r\n\r\n', 400],
    ['a Host with a user', 'GET /healthz HTTP/1.1\r\nHost: me@evil.example\r\nConnection: close\r\n\r\n', 400],
    ['an absolute URL that is none', get('http://[/'), 400],
    ['another scheme', get('ftp://a.example/healthz'), 400],
    ['a backslash', get('/\\evil.example/'), 400],
    ['an asterisk', get('*'), 400],
    ['an asterisk with OPTIONS', get('*', '', 'OPTIONS'), 400],
    ['two lengths', get('/healthz', 'Content-Length: 5\r\nContent-Length: 6\r\n'), 400],
    ['a length that is none', get('/healthz', 'Content-Length: -1\r\n'), 400],
    ['a length and chunks', get('/healthz', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', 'POST'), 400],
    ['an unknown transfer', get('/healthz', 'Transfer-Encoding: nope\r\n', 'POST'), 400],
    ['a header without a colon', get('/healthz', 'nonsense\r\n'), 400],
    ['a header on two lines', get('/healthz', 'X: a\r\n b\r\n \r\n: c\r\n'), 400],
    ['another expectation', get('/healthz', 'Expect: miracles\r\n'), 417],
  ])('%s', async (_, request, status) => {
    expectProblem(await send(port, [request]), status)
  })
})

describe('what reaches it is answered as ever', () => {
  test.each<[string, string, number]>([
    ['HTTP/1.0 without a Host, as health checks send it', 'GET /readyz HTTP/1.0\r\n\r\n', 200],
    ['an absolute URL', get('http://evil.example/healthz'), 200],
    ['dots', get('/v0.1/../healthz'), 200],
    ['encoded dots', get('/v0.1/%2e%2e/healthz'), 200],
    ['more dots than there are folders', get('/../../../../etc/passwd'), 404],
    ['a fragment', get('/healthz#fragment'), 200],
    ['an upgrade', get('/healthz', 'Upgrade: websocket\r\n').replace('close', 'close, Upgrade'), 200],
    ['an expectation that can be met', get('/healthz', 'Expect: 100-continue\r\n'), 100],
    [
      'garbage in the headers that are read',
      get('/v0.1/servers', 'If-None-Match: \xff",,W/\r\nAccept-Encoding: ;;q=\xfe\r\n'),
      200,
    ],
    ['TRACE', get('/v0.1/servers', '', 'TRACE'), 405],
    ['a body that nobody reads', `${get('/v0.1/publish', 'Content-Length: 3\r\n', 'POST')}abc`, 501],
    ['bad percent encoding', get('/v0.1/servers/%zz/versions'), 400],
    ['an encoded NUL', get('/v0.1/servers/%00/versions'), 400],
  ])('%s', async (_, request, status) => {
    const answer = await send(port, [latin1(request)])
    expect(statusOf(answer)).toBe(status)
    if (status >= 400) expectProblem(answer, status)
  })

  test.each(['//evil.example/', '//evil.example/%2e%2e/', '/%5Cevil.example/', 'http://evil.example//evil.example/'])(
    '%s leads nowhere else',
    async (target) => {
      const answer = await send(port, [get(target)])
      expect([308, 404]).toContain(statusOf(answer))
      const to = /\r\nlocation: (.*)\r\n/i.exec(answer)?.[1] ?? '/'
      expect(new URL(to, 'http://a.example/').host).toBe('a.example')
    },
  )

  test('HEAD has the headers of GET, and no body', async () => {
    const headersOf = (answer: string): readonly string[] =>
      (answer.split('\r\n\r\n')[0] ?? '')
        .split('\r\n')
        .filter((line) => !/^(date|content-length|transfer-encoding):/i.test(line))
        .map((line) => line.replace(/^[^:]+:/, (name) => name.toLowerCase()))
        .toSorted()
    for (const path of ['/v0.1/servers', '/registry/default/registry.json', '/elsewhere']) {
      const answer = await send(port, [get(path, 'Accept-Encoding: gzip\r\n', 'HEAD')])
      expect(headersOf(answer)).toEqual(headersOf(await send(port, [get(path, 'Accept-Encoding: gzip\r\n')])))
      expect(answer).toMatch(/\r\n\r\n$/)
    }
  })

  test('garbage after a good request does not spoil its answer', async () => {
    const good = get('/healthz').replace('Connection: close\r\n', '')
    const answer = await send(port, [good, '\0\0\0 nonsense\r\n\r\n'], 50)
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\{"status":"healthy"\}HTTP\/1\.1 400 /)
  })
})

describe('slow clients', () => {
  test('a request that does not end in time is told so', async () => {
    const impatient = createServer({ headersTimeout: 20, requestTimeout: 20, connectionsCheckingInterval: 10 })
    answerClientErrors(impatient)
    await once(impatient.listen(0, '127.0.0.1'), 'listening')
    const address = impatient.address()
    const to = typeof address === 'object' && address !== null ? address.port : 0
    expectProblem(await send(to, ['GET /healthz HTTP/1.1\r\nHost: a']), 408)
    impatient.close()
  })

  test('a request that comes byte by byte is answered', async () => {
    const answer = await send(port, [...get('/healthz')], 1)
    expect(bodyOf(answer)).toEqual({ status: 'healthy' })
  })

  test('a hundred that never end their request keep nobody waiting', async () => {
    const idle = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'))
    for (const socket of idle) socket.on('error', () => {}).write('GET /v0.1/servers HTTP/1.1\r\nHost: a\r\nX: ')
    expect(statusOf(await send(port, [get('/healthz')]))).toBe(200)
    for (const socket of idle) socket.destroy()
    expect(statusOf(await send(port, [get('/v0.1/servers')]))).toBe(200)
  })

  test('who leaves in the middle of an answer harms nobody', async () => {
    for (let index = 0; index < 20; index++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {}).write(get('/registry/default/registry.json'))
      socket.once('data', () => socket.destroy())
    }
    expect(statusOf(await send(port, [get('/healthz')]))).toBe(200)
  })
})

test('a bug of ours is 500 with a body, and is told to who runs it', async () => {
  const broken = new Hono()
  broken.onError((error) => {
    throw error
  })
  broken.get('/', () => {
    throw new Error('the bug')
  })
  broken.get('/later', async () => {
    await sleep(1)
    throw new Error('the bug')
  })
  const to = await start(broken)
  const said: string[] = []
  const { write } = process.stderr
  process.stderr.write = (text: string | Uint8Array) => said.push(String(text)) > 0
  try {
    for (const path of ['/', '/later']) {
      const answer = await send(to, [get(path)])
      expectProblem(answer, 500)
      expect(answer).not.toContain('the bug')
    }
  } finally {
    process.stderr.write = write
  }
  expect(said).toHaveLength(2)
})
