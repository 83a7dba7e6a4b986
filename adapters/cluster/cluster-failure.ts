import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'

// One line for each way in which an API server is not to be had: the server, the cause and the next step. Nothing of a
// request or of a kubeconfig is repeated: either may hold a credential.

type Failure = { readonly code: string; readonly cause: string; readonly fix: string }

const UNTRUSTED = { code: 'ClusterUntrusted', fix: 'Check certificate-authority in the kubeconfig' }
const UNREACHABLE = { code: 'ClusterUnreachable', fix: 'Check the address in the kubeconfig and the network to it' }
const NO_TLS = { code: 'ClusterUntrusted', cause: 'it does not speak TLS as we do', fix: 'Check https and the port' }

const BY_CODE: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: { ...UNREACHABLE, cause: 'nobody listens there' },
  ENOTFOUND: { ...UNREACHABLE, cause: 'the name is not known' },
  EAI_AGAIN: { ...UNREACHABLE, cause: 'the name cannot be looked up for the moment' },
  EHOSTUNREACH: { ...UNREACHABLE, cause: 'there is no way to it' },
  ENETUNREACH: { ...UNREACHABLE, cause: 'there is no way to it' },
  ECONNRESET: { ...UNREACHABLE, cause: 'the connection was cut' },
  EPIPE: { ...UNREACHABLE, cause: 'the connection was cut' },
  ETIMEDOUT: { ...UNREACHABLE, cause: 'it did not answer in time' },
  CERT_HAS_EXPIRED: { code: 'ClusterUntrusted', cause: 'its certificate has expired', fix: 'Renew it' },
  CERT_NOT_YET_VALID: {
    code: 'ClusterUntrusted',
    cause: 'its certificate is not valid yet',
    fix: 'Check the clock here and there',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    code: 'ClusterUntrusted',
    cause: 'its certificate is for another name',
    fix: 'Use the name that it is for, or set tls-server-name in the kubeconfig',
  },
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
}

const isUntrusted = (code: string): boolean =>
  /SELF_SIGNED|^UNABLE_TO_|^CERT_|^INVALID_(CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$/.test(code)

const codeOf = (thrown: unknown): string => {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if ('code' in error && typeof error.code === 'string') return error.code
  return ''
}

const isTimeout = (thrown: unknown): boolean =>
  thrown instanceof Error && (thrown.name === 'TimeoutError' || (thrown.cause !== undefined && isTimeout(thrown.cause)))

const failureOf = (thrown: unknown): Failure => {
  const code = codeOf(thrown)
  const known = BY_CODE[code]
  if (known !== undefined) return known
  if (isUntrusted(code))
    return { ...UNTRUSTED, cause: 'its certificate is not signed by an authority that the kubeconfig trusts' }
  if (isTimeout(thrown)) return { ...UNREACHABLE, cause: 'it did not answer in time' }
  if (/^ERR_(SSL|OSSL)/.test(code)) return { ...UNTRUSTED, cause: `TLS failed (${printable(code, 60)})` }
  return { ...UNREACHABLE, cause: `the request failed${code === '' ? '' : ` (${printable(code, 60)})`}` }
}

export const clusterError = (server: string, { code, cause, fix }: Failure, thrown?: unknown): OperationError =>
  new OperationError(
    code,
    `Cannot read the cluster at ${server}: ${cause}. ${fix}.`,
    thrown === undefined ? undefined : { cause: thrown },
  )

/** What the network threw, in words. What is an OperationError already stays as it is. */
export const networkFailure = (server: string, thrown: unknown): OperationError =>
  thrown instanceof OperationError ? thrown : clusterError(server, failureOf(thrown), thrown)

/** Would the same fail again at once? Then nobody waits for it. */
export const isLasting = (thrown: unknown): boolean =>
  thrown instanceof OperationError || failureOf(thrown).code === 'ClusterUntrusted' || codeOf(thrown) === 'ENOTFOUND'
