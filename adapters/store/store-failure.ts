import { OperationError } from '../../core/model/operation-error.ts'

// No node: module here: the R2 store runs where there is none.

export type Doing = 'read' | 'write to' | 'list' | 'delete from'
export type Failure = { readonly code: string; readonly cause: string; readonly fix: string }

/** One line: the store, the cause and the next step. Nothing of a request gets into it, since requests hold credentials. */
export const storeFailure = (doing: Doing, store: string, failure: Failure, cause?: unknown): OperationError =>
  new OperationError(failure.code, `Cannot ${doing} ${store}: ${failure.cause}. ${failure.fix}.`, { cause })

const UNTRUSTED: Omit<Failure, 'code'> = {
  cause: 'its certificate is not trusted here',
  fix: 'Use a certificate that is valid for that host, or name its authority in NODE_EXTRA_CA_CERTS',
}
const SLOW: Omit<Failure, 'code'> = {
  cause: 'it did not answer in time',
  fix: 'Check the network between here and there, and try again',
}
const BROKEN: Omit<Failure, 'code'> = {
  cause: 'the connection broke',
  fix: 'Check the network between here and there, and try again',
}

const NETWORK: Readonly<Record<string, Omit<Failure, 'code'>>> = {
  ENOTFOUND: { cause: 'no host has that name', fix: 'Check account, region and endpoint of the store URL' },
  EAI_AGAIN: { cause: 'the name service does not answer', fix: 'Check the network and DNS, and try again' },
  ECONNREFUSED: { cause: 'the connection was refused', fix: 'Check that it runs there, and the port of the endpoint' },
  EHOSTUNREACH: { cause: 'there is no way to that host', fix: 'Check the network and the endpoint' },
  ENETUNREACH: { cause: 'there is no way to that network', fix: 'Check the network and the endpoint' },
  ECONNRESET: BROKEN,
  EPIPE: BROKEN,
  ETIMEDOUT: SLOW,
  TimeoutError: SLOW,
  AbortError: SLOW,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: UNTRUSTED,
  EPROTO: { cause: 'it does not speak TLS', fix: 'Check http or https, and the port, of the endpoint' },
}

/** A field of whatever was thrown, where it has one. */
export const fieldOf = (thrown: unknown, field: string): unknown =>
  typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, field) : undefined

/** Failures of the network, however deep an SDK wrapped them. */
export const networkFailure = (thrown: unknown, where: string, depth = 0): Failure | undefined => {
  for (const field of ['code', 'name']) {
    const found = NETWORK[String(fieldOf(thrown, field))]
    if (found !== undefined) return { ...found, code: 'StoreAway', cause: `${found.cause} (${where})` }
  }
  if (depth === 4) return undefined
  const several = fieldOf(thrown, 'errors')
  const inner = [fieldOf(thrown, 'cause'), ...(Array.isArray(several) ? several : [])]
  return inner
    .filter((one) => one !== undefined)
    .map((one) => networkFailure(one, where, depth + 1))
    .find((found) => found !== undefined)
}

/** Without an etag nothing could ever be replaced safely. */
export const etagFrom = (doing: Doing, store: string, etag: string | undefined): string => {
  if (etag !== undefined && etag !== '') return etag
  throw storeFailure(doing, store, {
    code: 'StoreUnsupported',
    cause: 'it answered without an ETag',
    fix: 'Use a store whose objects have ETags, and let nothing in between remove them',
  })
}

/** One page of a listing must never pass for all of it. */
export const noWayOn = (store: string): OperationError =>
  storeFailure('list', store, {
    code: 'StoreIncomplete',
    cause: 'it said that there is more, and not where',
    fix: 'Use a store that lists page by page',
  })

/** Less, or more, than was announced is no object: a short read must never look like a whole one. */
export const wholeOr = (doing: Doing, store: string, announced: number | undefined, received: number): void => {
  if (announced === received) return
  throw storeFailure(doing, store, {
    code: 'StoreIncomplete',
    cause: `${received} bytes came instead of ${announced ?? 'an announced number'}`,
    fix: 'Try again; if it stays so, look at what is between here and there',
  })
}
