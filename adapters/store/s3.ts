import { type _Object, type ListObjectsV2CommandOutput, S3 } from '@aws-sdk/client-s3'
import type { BlobStore } from '../../core/ports.ts'
import { keyBelow, keyOf, startOf } from './key.ts'
import { codeOf, s3Failure, statusOf } from './s3-failure.ts'
import { type Doing, etagFrom, noWayOn, wholeOr } from './store-failure.ts'
import type { StoreUrl } from './store-url.ts'

type Environment = Readonly<Record<string, string | undefined>>
type S3Url = Extract<StoreUrl, { scheme: 's3' }>

const CONNECT_MS = 5_000
const IDLE_MS = 15_000
const REQUEST_MS = 60_000

/** The keys of the given environment; without them whatever the SDK finds by itself: profile, SSO, web identity, a role. */
const credentialsOf = (environment: Environment) => {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session } = environment
  if (!id || !secret) return {}
  return { credentials: { accessKeyId: id, secretAccessKey: secret, ...(session ? { sessionToken: session } : {}) } }
}

const regionOf = ({ region, endpoint }: S3Url, environment: Environment) => {
  const known = region ?? environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION
  // What is not AWS takes any region, but a signature needs one.
  if (known || endpoint !== undefined) return { region: known || 'us-east-1' }
  return {}
}

const createClient = (url: S3Url, environment: Environment): S3 =>
  new S3({
    ...credentialsOf(environment),
    ...regionOf(url, environment),
    ...(url.endpoint === undefined ? {} : { endpoint: url.endpoint, forcePathStyle: true }),
    // 429 and 503 are tried again, so a store under load is not a lost race.
    retryMode: 'standard',
    maxAttempts: 4,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: IDLE_MS,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
    },
    // Checksums that nobody asked for make many S3 servers refuse a request.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })

/** S3, and all that speaks it with conditional writes. */
export const openS3Store = (url: S3Url, environment: Environment): BlobStore => {
  const { bucket: Bucket, prefix } = url
  const store = `s3://${Bucket}${prefix === '' ? '' : `/${prefix}`}`
  const client = createClient(url, environment)
  const failed = (doing: Doing, thrown: unknown): Error => s3Failure(doing, store, url.endpoint ?? 'Amazon S3', thrown)

  return {
    async read(key, known) {
      const Key = keyBelow(prefix, key)
      try {
        const found = await client.getObject({ Bucket, Key, ...(known === undefined ? {} : { IfNoneMatch: known }) })
        const bytes = new Uint8Array((await found.Body?.transformToByteArray()) ?? [])
        wholeOr('read', store, found.ContentLength, bytes.byteLength)
        return { kind: 'found', bytes, etag: etagFrom('read', store, found.ETag) }
      } catch (thrown) {
        if (statusOf(thrown) === 304) return { kind: 'unchanged' }
        // Any other 404 is a bucket or a path that is not there, which must not look like an empty store.
        if (statusOf(thrown) === 404 && codeOf(thrown) === 'NoSuchKey') return { kind: 'absent' }
        throw failed('read', thrown)
      }
    },
    async write(key, bytes, expected) {
      const Key = keyBelow(prefix, key)
      const condition =
        expected === 'any' ? {} : expected === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: expected.etag }
      try {
        const written = await client.putObject({
          Bucket,
          Key,
          Body: bytes,
          ContentLength: bytes.byteLength,
          ...condition,
        })
        return { kind: 'written', etag: etagFrom('write to', store, written.ETag) }
      } catch (thrown) {
        const status = statusOf(thrown)
        // By status: the names of these differ from server to server. 404 is an object that vanished since it was read.
        if (expected !== 'any' && (status === 412 || status === 409)) return { kind: 'conflict' }
        if (typeof expected === 'object' && status === 404 && codeOf(thrown) !== 'NoSuchBucket')
          return { kind: 'conflict' }
        throw failed('write to', thrown)
      }
    },
    async list(folder) {
      const Prefix = startOf(prefix, folder)
      const names: string[] = []
      try {
        let page: ListObjectsV2CommandOutput | undefined
        do {
          const next = page?.NextContinuationToken
          page = await client.listObjectsV2({
            Bucket,
            Prefix,
            ...(next === undefined ? {} : { ContinuationToken: next }),
          })
          names.push(...(page.Contents ?? []).map(({ Key = '' }: _Object) => Key))
          if (page.IsTruncated === true && page.NextContinuationToken === undefined) throw noWayOn(store)
        } while (page.IsTruncated === true)
      } catch (thrown) {
        throw failed('list', thrown)
      }
      return names.map((name) => keyOf(prefix, name))
    },
    async delete(key) {
      const Key = keyBelow(prefix, key)
      try {
        await client.deleteObject({ Bucket, Key })
      } catch (thrown) {
        if (statusOf(thrown) === 404 && codeOf(thrown) === 'NoSuchKey') return
        throw failed('delete from', thrown)
      }
    },
  }
}
