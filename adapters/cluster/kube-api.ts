import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import { clusterError, isLasting, networkFailure } from './cluster-failure.ts'
import type { Connection, KubeInit } from './kube-fetch.ts'

type Json = Readonly<Record<string, unknown>>

/** What an API server says. Everything else that can happen throws an OperationError. */
export type KubeAnswer =
  | { readonly kind: 'ok'; readonly value: Json }
  | { readonly kind: 'denied' | 'absent' | 'expired' | 'conflict' | 'invalid'; readonly message: string }

export type KubeApi = {
  readonly server: string
  /** Asks until there is an answer; who asks for something that is safe to ask twice. */
  readonly get: (path: string) => Promise<KubeAnswer>
  /** Once: the caller knows what a lost answer means. */
  readonly send: (method: 'POST' | 'PUT', path: string, body: Json) => Promise<KubeAnswer>
  readonly cost: () => { readonly requests: number; readonly bytes: number }
}

export type KubeLimits = {
  /** For one request, with its body. */
  readonly requestMs: number
  readonly attempts: number
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

export const LIMITS: KubeLimits = { requestMs: 30_000, attempts: 6, firstPauseMs: 200, longestPauseMs: 10_000 }

/** Waiting twice for a server that hangs is enough. */
const MOST_TIMEOUTS = 2

const ANSWERS: Readonly<Record<number, Exclude<KubeAnswer['kind'], 'ok'>>> = {
  403: 'denied',
  404: 'absent',
  409: 'conflict',
  410: 'expired',
  422: 'invalid',
}

const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal.addEventListener('abort', stop, { once: true })
  })

/** `Retry-After` in milliseconds; as a date it is not worth parsing, since API servers send seconds. */
const retryAfter = (response: Response): number => {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : 0
}

type Attempt =
  | { readonly kind: 'answer'; readonly answer: KubeAnswer }
  | { readonly kind: 'again'; readonly error: Error; readonly after: number; readonly isTimeout: boolean }

/** Speaks with an API server: what it answers, with patience for what passes. `deadline` ends all of it. */
export const createKubeApi = (
  { fetch, server }: Connection,
  deadline: AbortSignal,
  limits: KubeLimits = LIMITS,
): KubeApi => {
  let requests = 0
  let bytes = 0
  const failed = (code: string, cause: string, fix: string) => clusterError(server, { code, cause, fix })

  const read = async (response: Response): Promise<unknown> => {
    const body = await response.arrayBuffer()
    bytes += body.byteLength
    return JSON.parse(new TextDecoder().decode(body))
  }

  const ask = async (path: string, init: KubeInit): Promise<Attempt> => {
    const limit = AbortSignal.timeout(limits.requestMs)
    const again = (error: Error, after = 0): Attempt => ({ kind: 'again', error, after, isTimeout: limit.aborted })
    // Who ends a connection hears that it was cut.
    const told = (thrown: unknown): unknown =>
      limit.aborted && !(thrown instanceof OperationError) ? limit.reason : thrown
    requests++
    let response: Response
    try {
      response = await fetch(path, { ...init, signal: AbortSignal.any([limit, deadline]) })
    } catch (thrown) {
      const error = networkFailure(server, told(thrown))
      if (isLasting(thrown)) throw error
      return again(error)
    }
    const { status } = response
    let value: unknown
    let problem: unknown
    try {
      value = await read(response)
    } catch (thrown) {
      problem = thrown
    }
    if (status === 401)
      throw failed('ClusterUnauthorized', 'it does not accept the credentials', 'Renew them, or choose another context')
    if (status === 429 || status >= 500)
      return again(
        failed('ClusterBusy', `it answers ${status}`, 'Try again later, and see the logs of the API server'),
        retryAfter(response),
      )
    if (problem !== undefined && !(problem instanceof SyntaxError)) return again(networkFailure(server, told(problem)))
    // Only what the API server itself says counts: a proxy's page must not look like an answer.
    if (!isMap(value))
      return again(
        failed(
          'ClusterAnswerUnreadable',
          `what came back (${status}) is not of an API server`,
          'Look for a proxy between here and there',
        ),
      )
    if (status >= 200 && status < 300) return { kind: 'answer', answer: { kind: 'ok', value } }
    const kind = ANSWERS[status]
    if (kind === undefined || value.kind !== 'Status')
      throw failed('ClusterAnswerUnexpected', `it answers ${status}`, 'Look for a proxy between here and there')
    return { kind: 'answer', answer: { kind, message: printable(String(value.message ?? ''), 300) } }
  }

  const get = async (path: string): Promise<KubeAnswer> => {
    let timeouts = 0
    for (let attempt = 1; ; attempt++) {
      const result = await ask(path, { headers: { accept: 'application/json' } })
      if (result.kind === 'answer') return result.answer
      if (deadline.aborted) throw networkFailure(server, deadline.reason)
      timeouts += result.isTimeout ? 1 : 0
      if (attempt >= limits.attempts || timeouts >= MOST_TIMEOUTS) throw result.error
      const pause = Math.random() * Math.min(limits.longestPauseMs, limits.firstPauseMs * 2 ** attempt)
      try {
        await sleep(Math.max(pause, Math.min(result.after, limits.longestPauseMs)), deadline)
      } catch (thrown) {
        throw networkFailure(server, thrown)
      }
    }
  }

  return {
    server,
    get,
    send: async (method, path, body) => {
      const headers = { accept: 'application/json', 'content-type': 'application/json' }
      const result = await ask(path, { method, headers, body: JSON.stringify(body) })
      if (result.kind === 'again') throw result.error
      return result.answer
    },
    cost: () => ({ requests, bytes }),
  }
}
