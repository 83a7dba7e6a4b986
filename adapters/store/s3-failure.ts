import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import { type Doing, type Failure, fieldOf, networkFailure, storeFailure } from './store-failure.ts'

export const statusOf = (thrown: unknown): number | undefined => {
  const status = fieldOf(fieldOf(thrown, '$metadata'), 'httpStatusCode')
  return typeof status === 'number' ? status : undefined
}

/** What the server calls it, or the SDK where there was no server. */
export const codeOf = (thrown: unknown): string => {
  const name = fieldOf(thrown, 'name')
  return typeof name === 'string' ? name : ''
}

const PERMISSIONS =
  'Allow s3:GetObject, s3:PutObject and s3:DeleteObject on the objects and s3:ListBucket on the bucket'

const credentialsMissing: Failure = {
  code: 'StoreCredentialsMissing',
  cause: 'there are no credentials',
  fix: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give a profile or a role',
}

const answered = (doing: Doing, status: number, code: string): Failure => {
  const said = `${status}${code === '' ? '' : ` ${printable(code, 40)}`}`
  if (status === 404)
    return {
      code: 'StoreMissing',
      cause: code === 'NoSuchBucket' ? 'there is no such bucket' : `it was not found (${said})`,
      fix: 'Create the bucket, or mend bucket, region and endpoint of the store URL',
    }
  if (code === 'InvalidAccessKeyId' || code === 'SignatureDoesNotMatch')
    return {
      code: 'StoreDenied',
      cause: `the credentials are not accepted (${said})`,
      fix: 'Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and the clock of this machine',
    }
  if (/^(ExpiredToken|TokenRefreshRequired|InvalidToken)/.test(code))
    return { code: 'StoreDenied', cause: `the session is over (${said})`, fix: 'Sign in again' }
  if (status === 401 || status === 403)
    return {
      code: 'StoreDenied',
      // S3 hides what is not there from those who may not list.
      cause: `access was denied (${said})${doing === 'read' ? ', which is also what a missing object gives without s3:ListBucket' : ''}`,
      fix: PERMISSIONS,
    }
  if (status === 301 || status === 307)
    return {
      code: 'StoreMissing',
      cause: `the bucket is in another region (${said})`,
      fix: 'Set region= in the store URL',
    }
  if (status === 429 || status >= 500)
    return { code: 'StoreAway', cause: `it is overloaded or failing (${said})`, fix: 'Try again later' }
  return { code: 'StoreFailed', cause: `it refused the request (${said})`, fix: 'Check that it is an S3 store' }
}

/** What a failure of the SDK means for the store; what it says itself may hold parts of the request. */
export const s3Failure = (doing: Doing, store: string, where: string, thrown: unknown): OperationError => {
  if (thrown instanceof OperationError) return thrown
  const code = codeOf(thrown)
  const status = statusOf(thrown)
  const network = networkFailure(thrown, where)
  const region = thrown instanceof Error && thrown.message === 'Region is missing'
  const failure: Failure =
    code === 'CredentialsProviderError' || code === 'TokenProviderError'
      ? credentialsMissing
      : region
        ? { code: 'StoreUrlInvalid', cause: 'no region is known', fix: 'Set region= in the store URL, or AWS_REGION' }
        : status !== undefined && status !== 200
          ? answered(doing, status, code)
          : (network ?? {
              code: 'StoreFailed',
              cause: `it gave an answer that cannot be read (${printable(code, 40)})`,
              fix: 'Check that the endpoint is an S3 store',
            })
  return storeFailure(doing, store, failure, thrown)
}
