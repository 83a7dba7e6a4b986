import type { Bytes } from '../../core/model/bytes.ts'
import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { BlobStore, Etag } from '../../core/ports.ts'
import { gunzip } from './gzip.ts'

/** An object that is there and is not what was stored under its name. It is never used, and never taken for absent. */
export class DamagedObject extends OperationError {
  constructor(key: string, problem: string) {
    super(
      'PublicationDamaged',
      `${key} in the store is damaged: ${problem}. Restore it from a backup or a version of the bucket; readers go on with what they have.`,
    )
  }
}

/** For a `catch`, where damage means the same as absence. Everything else is thrown on. */
export const absentIfDamaged = (error: unknown): undefined => {
  if (!(error instanceof DamagedObject)) throw error
  return undefined
}

type Versioned<T> = { readonly value: T; readonly etag: Etag }

export const encodeJson = (value: unknown): Bytes => new TextEncoder().encode(`${canonicalJson(value)}\n`)

export const parseJson = <T>(key: string, bytes: Bytes, is: (value: unknown) => value is T): T => {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new DamagedObject(key, 'it is no JSON')
  }
  if (!is(value)) throw new DamagedObject(key, 'it has another shape than we write')
  return value
}

/** An object that may be replaced by others at any time; `undefined` where there is none. */
export const readJson = async <T>(
  store: BlobStore,
  key: string,
  is: (value: unknown) => value is T,
): Promise<Versioned<T> | undefined> => {
  const object = await store.read(key)
  return object.kind === 'found' ? { value: parseJson(key, object.bytes, is), etag: object.etag } : undefined
}

/** One that can be made anew: where it is damaged, its etag is known and its value is not. */
export const readReplaceable = async <T>(
  store: BlobStore,
  key: string,
  is: (value: unknown) => value is T,
): Promise<{ readonly value: T | undefined; readonly etag: Etag } | undefined> => {
  const object = await store.read(key)
  if (object.kind !== 'found') return undefined
  try {
    return { value: parseJson(key, object.bytes, is), etag: object.etag }
  } catch (error) {
    if (!(error instanceof DamagedObject)) throw error
    return { value: undefined, etag: object.etag }
  }
}

/** An immutable object, checked against the digest that its name or its manifest gives; `undefined` where there is none. */
export const readVerified = async (
  store: BlobStore,
  key: string,
  digest: string,
  isCompressed: boolean,
): Promise<Bytes | undefined> => {
  const object = await store.read(key)
  if (object.kind !== 'found') return undefined
  let { bytes } = object
  if (isCompressed) {
    try {
      bytes = await gunzip(bytes)
    } catch {
      throw new DamagedObject(key, 'it cannot be decompressed')
    }
  }
  if (digestOf(bytes) !== digest) throw new DamagedObject(key, 'its bytes do not match their digest')
  return bytes
}
