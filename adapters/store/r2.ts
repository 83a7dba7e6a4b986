import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import type { BlobStore } from '../../core/ports.ts'
import { keyBelow, keyOf, startOf } from './key.ts'
import { type Doing, noWayOn, storeFailure, wholeOr } from './store-failure.ts'

// Only what is used of a Worker's R2 binding, so that no types of the platform are needed.
type R2Object = { readonly key: string; readonly etag: string; readonly size: number }
type R2Body = R2Object & { arrayBuffer(): Promise<ArrayBuffer> }
type R2Page = { readonly objects: readonly R2Object[]; readonly truncated: boolean; readonly cursor?: string }
export type R2Bucket = {
  get(key: string, options: { onlyIf?: { etagDoesNotMatch: string } }): Promise<R2Body | R2Object | null>
  put(key: string, value: Uint8Array, options: { onlyIf?: Headers | { etagMatches: string } }): Promise<R2Object | null>
  list(options: { prefix: string; cursor?: string }): Promise<R2Page>
  delete(key: string): Promise<void>
}

export const isBucket = (value: unknown): value is R2Bucket =>
  typeof value === 'object' &&
  value !== null &&
  ['get', 'put', 'list', 'delete'].every((name) => typeof Reflect.get(value, name) === 'function')

// https://developers.cloudflare.com/r2/api/error-codes: internal error, unavailable, too many writes of one object.
const PASSING = /\((10001|10043|10058)\)\s*$/
const PAUSES_MS: readonly number[] = [200, 500, 1_200, 2_500]

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms * (0.75 + Math.random() / 2)))

/** The binding tries nothing again by itself, and about one write a second of one object is all that R2 takes. */
const patiently = async <T>(doing: Doing, store: string, act: () => Promise<T>): Promise<T> => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await act()
    } catch (thrown) {
      if (thrown instanceof OperationError) throw thrown
      const said = thrown instanceof Error ? thrown.message : ''
      const wait = PASSING.test(said) ? PAUSES_MS[attempt] : undefined
      if (wait === undefined) throw r2Failure(doing, store, said, thrown)
      await pause(wait)
    }
  }
}

const r2Failure = (doing: Doing, store: string, said: string, cause: unknown): Error => {
  const answer = printable(said === '' ? 'no reason' : said, 120)
  const failure = PASSING.test(said)
    ? { code: 'StoreAway', cause: `it is overloaded or failing (${answer})`, fix: 'Try again later' }
    : /\(10006\)|does not exist/.test(said)
      ? {
          code: 'StoreMissing',
          cause: `there is no such bucket (${answer})`,
          fix: 'Create the bucket, or bind another',
        }
      : {
          code: 'StoreFailed',
          cause: `R2 refused it (${answer})`,
          fix: 'Check the binding in the configuration of the Worker',
        }
  return storeFailure(doing, store, failure, cause)
}

/** R2 through the binding of a Worker: no credentials, no network of its own. */
export const openR2Store = (
  bucket: R2Bucket,
  place: { readonly binding: string; readonly prefix: string },
): BlobStore => {
  const { binding, prefix } = place
  const store = `r2://${binding}${prefix === '' ? '' : `/${prefix}`}`

  return {
    async read(key, known) {
      const name = keyBelow(prefix, key)
      const onlyIf = known === undefined ? {} : { onlyIf: { etagDoesNotMatch: known } }
      return patiently('read', store, async () => {
        const found = await bucket.get(name, onlyIf)
        if (found === null) return { kind: 'absent' }
        // An object that did not meet the condition comes without its body.
        if (!('arrayBuffer' in found)) return { kind: 'unchanged' }
        const bytes = new Uint8Array(await found.arrayBuffer())
        wholeOr('read', store, found.size, bytes.byteLength)
        return { kind: 'found', bytes, etag: found.etag }
      })
    },
    async write(key, bytes, expected) {
      const name = keyBelow(prefix, key)
      const onlyIf =
        expected === 'any'
          ? {}
          : // As a header: `etagDoesNotMatch: '*'` would overwrite.
            { onlyIf: expected === 'absent' ? new Headers({ 'if-none-match': '*' }) : { etagMatches: expected.etag } }
      const written = await patiently('write to', store, () => bucket.put(name, bytes, onlyIf))
      return written === null ? { kind: 'conflict' } : { kind: 'written', etag: written.etag }
    },
    async list(folder) {
      const start = startOf(prefix, folder)
      const names: string[] = []
      let cursor: string | undefined
      do {
        const from = cursor === undefined ? {} : { cursor }
        const page = await patiently('list', store, () => bucket.list({ prefix: start, ...from }))
        names.push(...page.objects.map((object) => object.key))
        // A page may hold fewer than asked for, or none: only `truncated` says whether there is more.
        if (page.truncated && page.cursor === undefined) throw noWayOn(store)
        cursor = page.truncated ? page.cursor : undefined
      } while (cursor !== undefined)
      return names.map((name) => keyOf(prefix, name))
    },
    async delete(key) {
      const name = keyBelow(prefix, key)
      await patiently('delete from', store, () => bucket.delete(name))
    },
  }
}
