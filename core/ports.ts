import type { Bytes } from './model/bytes.ts'
import type { Manifests } from './model/manifests.ts'

/** Reads all documents under a path. A path that cannot be read throws: a partial read is no read. */
export type ReadManifests = (path: string) => Promise<Manifests>

/** Which version of an object was read; only the store that gave it knows what it means. */
export type Etag = string

export type StoredObject = { readonly kind: 'found'; readonly bytes: Bytes; readonly etag: Etag }

/**
 * Objects by key, below one prefix. A key is segments of letters, digits, `.`, `_` and `-`, joined by `/`; none is `.` or
 * `..`. Failures throw an OperationError; these are the answers.
 */
export interface BlobStore {
  /** With `known`, the etag of what the caller has, an object that is still that one is not sent again. */
  read(key: string, known?: Etag): Promise<StoredObject | { readonly kind: 'absent' } | { readonly kind: 'unchanged' }>
  /** `expected` is required, so that nobody can forget the other writer. A lost race is an answer. */
  write(
    key: string,
    bytes: Bytes,
    expected: { readonly etag: Etag } | 'absent' | 'any',
  ): Promise<{ readonly kind: 'written'; readonly etag: Etag } | { readonly kind: 'conflict' }>
  /** All keys below a folder, to the last page, in no particular order. */
  list(folder: string): Promise<readonly string[]>
  /** Deleting what is not there is done already. */
  delete(key: string): Promise<void>
}
