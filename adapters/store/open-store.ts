import { OperationError } from '../../core/model/operation-error.ts'
import type { BlobStore } from '../../core/ports.ts'
import { parseStoreUrl } from './store-url.ts'

export type StoreSurroundings = {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What a platform hands over instead of credentials: the R2 buckets of a Worker, by name. */
  readonly bindings?: Readonly<Record<string, unknown>>
}

/** The store that a URL names. Each is loaded only when it is used: an SDK costs more to load than a sync to run. */
export const openStore = async (url: string, { environment, bindings = {} }: StoreSurroundings): Promise<BlobStore> => {
  const parsed = parseStoreUrl(url)
  switch (parsed.scheme) {
    case 'file':
      return (await import('./folder.ts')).openFolderStore(parsed.path)
    case 'memory':
      return (await import('./memory.ts')).openMemoryStore()
    case 's3':
      return (await import('./s3.ts')).openS3Store(parsed, environment)
    case 'azblob':
      return (await import('./azure.ts')).openAzureStore(parsed, environment)
    case 'r2': {
      const { isBucket, openR2Store } = await import('./r2.ts')
      const bucket = bindings[parsed.binding]
      if (isBucket(bucket)) return openR2Store(bucket, parsed)
      throw new OperationError(
        'StoreUrlInvalid',
        `The store URL "r2://${parsed.binding}" is refused: there is no R2 bucket bound as ${parsed.binding} here. Bind one in the configuration of the Worker; outside of Workers, use R2 by s3:// with its endpoint.`,
      )
    }
  }
}
