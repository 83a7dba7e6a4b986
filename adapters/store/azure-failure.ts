import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import { type Doing, type Failure, fieldOf, networkFailure, storeFailure } from './store-failure.ts'

export const azureStatusOf = (thrown: unknown): number | undefined => {
  const status = fieldOf(thrown, 'statusCode')
  return typeof status === 'number' ? status : undefined
}

export const azureCodeOf = (thrown: unknown): string => {
  const code = fieldOf(thrown, 'code') ?? fieldOf(fieldOf(thrown, 'details'), 'errorCode')
  return typeof code === 'string' ? code : ''
}

const NO_IDENTITY =
  /^(CredentialUnavailableError|AggregateAuthenticationError|AuthenticationRequiredError|AuthenticationError)$/

const credentialsMissing: Failure = {
  code: 'StoreCredentialsMissing',
  cause: 'there are no credentials that work there',
  fix: 'Set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, or give the workload an identity',
}

const answered = (status: number, code: string): Failure => {
  const said = `${status}${code === '' ? '' : ` ${printable(code, 40)}`}`
  if (status === 404)
    return {
      code: 'StoreMissing',
      cause: code === 'ContainerNotFound' ? 'there is no such container' : `it was not found (${said})`,
      fix: 'Create the container, or mend account, container and endpoint of the store URL',
    }
  if (code === 'AuthenticationFailed' || code === 'InvalidAuthenticationInfo')
    return {
      code: 'StoreDenied',
      cause: `the credentials are not accepted (${said})`,
      fix: 'Check the key or the token, that it is not over, and the clock of this machine',
    }
  if (status === 401 || status === 403)
    return {
      code: 'StoreDenied',
      cause: `access was denied (${said})`,
      fix: 'Assign "Storage Blob Data Contributor" on the container, check the key or the token, and let the firewall of the account know this machine',
    }
  if (status === 429 || status >= 500)
    return { code: 'StoreAway', cause: `it is overloaded or failing (${said})`, fix: 'Try again later' }
  return { code: 'StoreFailed', cause: `it refused the request (${said})`, fix: 'Check that it is a blob store' }
}

/** What a failure of the SDK means for the store; its own words hold the URL, and that may hold a signature. */
export const azureFailure = (doing: Doing, store: string, where: string, thrown: unknown): OperationError => {
  if (thrown instanceof OperationError) return thrown
  const status = azureStatusOf(thrown)
  const insecure = thrown instanceof Error && thrown.message.startsWith('Bearer token authentication is not permitted')
  const failure: Failure =
    insecure || NO_IDENTITY.test(String(fieldOf(thrown, 'name')))
      ? credentialsMissing
      : status !== undefined
        ? answered(status, azureCodeOf(thrown))
        : (networkFailure(thrown, where) ?? {
            code: 'StoreFailed',
            cause: `it gave an answer that cannot be read (${printable(azureCodeOf(thrown), 40)})`,
            fix: 'Check that the endpoint is a blob store',
          })
  return storeFailure(doing, store, failure, thrown)
}
