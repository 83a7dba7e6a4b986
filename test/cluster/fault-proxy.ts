import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { type Answer, createForwarder, startTls } from './loopback.ts'
import type { StartedCluster } from './started-cluster.ts'

// Between a reader and the real API server: forwards what is asked, a few objects a page, and spoils answers.

export const FAULTS = [
  'cut', // the connection, in the middle of a body
  'cutGzip', // the same, in the middle of a compressed one
  'reset', // before any answer
  'stall', // no answer, for longer than a request may take
  'stallInside', // half of one
  'truncated', // half of a body that says it is whole
  'expired', // 410 on a page that is not the first
  'denied', // 403 on a page that is not the first
  'busy', // 429 with Retry-After
  'broken', // 500
  'away', // 503, with a page of a proxy
  'page404', // a page of a proxy
  'page200',
  'other', // JSON of somebody else
  'bodiless', // 204
] as const
export type Fault = (typeof FAULTS)[number]

const PAGE = '<!doctype html><html><head><title>Sign in</title></head><body>Please wait</body></html>'
const JSON_TYPE = { 'content-type': 'application/json' }
const HTML_TYPE = { 'content-type': 'text/html' }
/** Fewer than there are, so that a list has several pages. */
const LIMIT = 4

const statusOf = (code: number, reason: string, message: string): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code })

const EXPIRED = statusOf(
  410,
  'Expired',
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
)

const send = (response: ServerResponse, status: number, headers: Answer['headers'], body: string | Buffer): void => {
  response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) }).end(body)
}

/** The beginning of a body that is announced whole. */
const sendHalf = (response: ServerResponse, { status, headers, body }: Answer, then: () => void): void => {
  response.writeHead(status, { ...headers, 'content-length': String(body.byteLength) })
  response.write(body.subarray(0, Math.ceil(body.byteLength / 2)), then)
}

const compressed = ({ status, headers, body }: Answer): Answer => ({
  status,
  headers: { ...headers, 'content-encoding': 'gzip' },
  body: gzipSync(body),
})

const spoil = (fault: Fault, answer: Answer, isLaterPage: boolean, response: ServerResponse): void => {
  const cut = (): void => void response.socket?.destroy()
  const pass = (): void => send(response, answer.status, answer.headers, answer.body)
  const ways: Readonly<Record<Fault, () => void>> = {
    cut: () => sendHalf(response, answer, cut),
    cutGzip: () => sendHalf(response, compressed(answer), cut),
    reset: cut,
    stall: () => {},
    stallInside: () => sendHalf(response, answer, () => {}),
    truncated: () => send(response, answer.status, answer.headers, answer.body.subarray(0, answer.body.byteLength / 2)),
    expired: () => (isLaterPage ? send(response, 410, JSON_TYPE, EXPIRED) : pass()),
    denied: () => (isLaterPage ? send(response, 403, JSON_TYPE, statusOf(403, 'Forbidden', 'no')) : pass()),
    busy: () => send(response, 429, { ...JSON_TYPE, 'retry-after': '1' }, statusOf(429, 'TooManyRequests', 'too many')),
    broken: () => send(response, 500, JSON_TYPE, statusOf(500, 'InternalError', 'etcdserver: leader changed')),
    away: () => send(response, 503, HTML_TYPE, PAGE),
    page404: () => send(response, 404, HTML_TYPE, PAGE),
    page200: () => send(response, 200, HTML_TYPE, PAGE),
    other: () => send(response, 200, JSON_TYPE, '{"items":[],"message":"welcome"}'),
    bodiless: () => void response.writeHead(204).end(),
  }
  ways[fault]()
}

/** `faultOf` is asked for every request; each second answer that is not spoiled is compressed. */
export const startFaultProxy = async (cluster: StartedCluster) => {
  const address = '127.0.0.1'
  const notAfter = new Date(Date.now() + 60 * 60 * 1_000)
  const serving = cluster.issueCertificate({ commonName: 'fault-proxy', address, notAfter })
  const { forward, stop: stopForwarding } = createForwarder(cluster)
  let faultOf: (path: string) => Fault | undefined = () => undefined
  const seen: string[] = []
  const { port, stop } = await startTls(serving, async ({ url = '', headers }, response) => {
    seen.push(url)
    const fault = faultOf(url)
    const answer = await forward(url.replace('limit=500', `limit=${LIMIT}`), headers.authorization)
    if (fault !== undefined) return spoil(fault, answer, url.includes('continue='), response)
    const { status, headers: own, body } = seen.length % 2 === 0 ? answer : compressed(answer)
    send(response, status, own, body)
  })
  return {
    server: `https://${address}:${port}`,
    seen,
    fail: (how: (path: string) => Fault | undefined): void => {
      faultOf = how
    },
    stop: async (): Promise<void> => {
      await stop()
      stopForwarding()
    },
  }
}
