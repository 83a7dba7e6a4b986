import { buffer } from 'node:stream/consumers'
import { BlobServiceClient, type StoragePipelineOptions, StorageSharedKeyCredential } from '@azure/storage-blob'
import { OperationError } from '../../core/model/operation-error.ts'
import type { BlobStore } from '../../core/ports.ts'
import { azureCodeOf, azureFailure, azureStatusOf } from './azure-failure.ts'
import { keyBelow, keyOf, startOf } from './key.ts'
import { type Doing, etagFrom, wholeOr } from './store-failure.ts'
import type { StoreUrl } from './store-url.ts'

type Environment = Readonly<Record<string, string | undefined>>
type AzureUrl = Extract<StoreUrl, { scheme: 'azblob' }>

const PAGE = 1_000
const OPERATION_MS = 90_000

const OPTIONS: StoragePipelineOptions = {
  retryOptions: { maxTries: 5, retryDelayInMs: 200, maxRetryDelayInMs: 5_000 },
  userAgentOptions: { userAgentPrefix: 'waypost' },
}

const invalid = (store: string, cause: string, fix: string): OperationError =>
  new OperationError('StoreUrlInvalid', `The store ${store} cannot be opened: ${cause}. ${fix}.`)

const fromConnectionString = (store: string, account: string, text: string): BlobServiceClient => {
  let client: BlobServiceClient
  try {
    client = BlobServiceClient.fromConnectionString(text, OPTIONS)
  } catch {
    // Without a cause: what the SDK says may repeat the key.
    throw invalid(store, 'AZURE_STORAGE_CONNECTION_STRING is no connection string', 'Copy it again from the account')
  }
  if (client.accountName !== account)
    throw invalid(store, 'AZURE_STORAGE_CONNECTION_STRING is for another account', 'Mend the one or the other')
  return client
}

/** By the variables of the az command, most exact first; else whatever this machine or workload is known as. */
const createClient = async (store: string, url: AzureUrl, environment: Environment): Promise<BlobServiceClient> => {
  const { account, endpoint = `https://${account}.blob.core.windows.net` } = url
  const {
    AZURE_STORAGE_CONNECTION_STRING: connection,
    AZURE_STORAGE_KEY: key,
    AZURE_STORAGE_SAS_TOKEN: sas,
  } = environment
  if (connection && url.endpoint === undefined) return fromConnectionString(store, account, connection)
  if (connection)
    throw invalid(
      store,
      'both its endpoint and AZURE_STORAGE_CONNECTION_STRING say where it is',
      'Leave one of them out',
    )
  if (key) return new BlobServiceClient(endpoint, new StorageSharedKeyCredential(account, key), OPTIONS)
  if (sas) return new BlobServiceClient(`${endpoint}?${sas.replace(/^\?/, '')}`, undefined, OPTIONS)
  const { DefaultAzureCredential } = await import('@azure/identity')
  return new BlobServiceClient(endpoint, new DefaultAzureCredential(), OPTIONS)
}

export const openAzureStore = async (url: AzureUrl, environment: Environment): Promise<BlobStore> => {
  const { account, container, prefix } = url
  const store = `azblob://${account}/${container}${prefix === '' ? '' : `/${prefix}`}`
  const client = (await createClient(store, url, environment)).getContainerClient(container)
  const failed = (doing: Doing, thrown: unknown): Error =>
    azureFailure(doing, store, url.endpoint ?? `${account}.blob.core.windows.net`, thrown)
  const bounded = () => ({ abortSignal: AbortSignal.timeout(OPERATION_MS) })

  return {
    async read(key, known) {
      const blob = client.getBlockBlobClient(keyBelow(prefix, key))
      try {
        const conditions = known === undefined ? {} : { conditions: { ifNoneMatch: known } }
        const found = await blob.download(0, undefined, { ...conditions, ...bounded() })
        if (found._response.status === 304) return { kind: 'unchanged' }
        const { readableStreamBody: body, etag } = found
        const bytes = new Uint8Array(body === undefined ? [] : await buffer(body))
        wholeOr('read', store, found.contentLength, bytes.byteLength)
        return { kind: 'found', bytes, etag: etagFrom('read', store, etag) }
      } catch (thrown) {
        if (azureStatusOf(thrown) === 304) return { kind: 'unchanged' }
        if (azureCodeOf(thrown) === 'BlobNotFound') return { kind: 'absent' }
        throw failed('read', thrown)
      }
    },
    async write(key, bytes, expected) {
      const blob = client.getBlockBlobClient(keyBelow(prefix, key))
      const conditions =
        expected === 'any'
          ? {}
          : { conditions: expected === 'absent' ? { ifNoneMatch: '*' } : { ifMatch: expected.etag } }
      try {
        const { etag } = await blob.upload(bytes, bytes.byteLength, { ...conditions, ...bounded() })
        return { kind: 'written', etag: etagFrom('write to', store, etag) }
      } catch (thrown) {
        const status = azureStatusOf(thrown)
        if (expected !== 'any' && status === 412) return { kind: 'conflict' }
        // 409 is also a container that is being deleted, or a blob with a lease.
        if (expected === 'absent' && status === 409 && azureCodeOf(thrown) === 'BlobAlreadyExists')
          return { kind: 'conflict' }
        if (typeof expected === 'object' && azureCodeOf(thrown) === 'BlobNotFound') return { kind: 'conflict' }
        throw failed('write to', thrown)
      }
    },
    async list(folder) {
      const start = startOf(prefix, folder)
      const names: string[] = []
      try {
        // Page by page, so that each has its own time.
        let token = ''
        do {
          const from = token === '' ? {} : { continuationToken: token }
          const pages = client.listBlobsFlat({ prefix: start, ...bounded() }).byPage({ maxPageSize: PAGE, ...from })
          const page = await pages.next()
          if (page.done === true) break
          names.push(...page.value.segment.blobItems.map((blob) => blob.name))
          token = page.value.continuationToken ?? ''
        } while (token !== '')
      } catch (thrown) {
        throw failed('list', thrown)
      }
      return names.map((name) => keyOf(prefix, name))
    },
    async delete(key) {
      const blob = client.getBlockBlobClient(keyBelow(prefix, key))
      try {
        await blob.delete(bounded())
      } catch (thrown) {
        if (azureCodeOf(thrown) !== 'BlobNotFound') throw failed('delete from', thrown)
      }
    },
  }
}
