import { canonicalJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { isMap } from '../../core/model/is-map.ts'
import { isDigest } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { paginate } from '../../core/publish/paginate.ts'
import { gzip } from './gzip.ts'
import { absentIfDamaged, DamagedObject, parseJson, readVerified } from './objects.ts'

// States and results of sources are long lists of which little changes. Each is a root that names its pages; both are
// stored compressed, under the digest of what they are before that.

/** The root of paged lists: their pages by the name of the list, and whatever else is said once. */
type Root = { readonly lists: Readonly<Record<string, readonly string[]>>; readonly head: unknown }

export type Paged = {
  readonly digest: string
  readonly texts: ReadonlyMap<string, string>
  /** The pages of each list, as its root names them. */
  readonly lists: Root['lists']
}

const isRoot = (value: unknown): value is Root =>
  isMap(value) &&
  'head' in value &&
  isMap(value.lists) &&
  Object.values(value.lists).every((digests) => Array.isArray(digests) && digests.every(isDigest))

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

type Item = { readonly key: string; readonly json: string }

export const toPaged = (head: unknown, lists: Readonly<Record<string, readonly Item[]>>): Paged => {
  const texts = new Map<string, string>()
  const named = Object.fromEntries(
    Object.entries(lists).map(([name, items]) => {
      const { digests, pages } = paginate(items)
      for (const [digest, page] of pages) texts.set(digest, page)
      return [name, digests]
    }),
  )
  const root = canonicalJson({ head, lists: named })
  const digest = digestOf(root)
  texts.set(digest, root)
  return { digest, texts, lists: named }
}

const readPage = async <T>(
  store: BlobStore,
  keyOf: (digest: string) => string,
  digest: string,
  is: (value: unknown) => value is T,
): Promise<T | undefined> => {
  const bytes = await readVerified(store, keyOf(digest), digest, true)
  return bytes === undefined ? undefined : parseJson(keyOf(digest), bytes, is)
}

/** All objects that a root names, itself included; `undefined` where it is not there. */
export const namedBy = async (
  store: BlobStore,
  keyOf: (digest: string) => string,
  digest: string,
): Promise<readonly string[] | undefined> => {
  const root = await readPage(store, keyOf, digest, isRoot)
  return root && [digest, ...Object.values(root.lists).flat()].map(keyOf)
}

/** Stores what `before`, the root that it follows, does not name already. The root last: it is never without its pages. */
export const writePaged = async (
  store: BlobStore,
  keyOf: (digest: string) => string,
  { digest, texts }: Paged,
  before: string | undefined,
): Promise<void> => {
  if (digest === before) return
  const known = new Set(before === undefined ? [] : await namedBy(store, keyOf, before).catch(absentIfDamaged))
  const write = async (each: string): Promise<void> => {
    const bytes = new TextEncoder().encode(texts.get(each) ?? '')
    await store.write(keyOf(each), await gzip(bytes), 'any')
  }
  await inParallel(
    [...texts.keys()].filter((each) => each !== digest && !known.has(keyOf(each))),
    write,
  )
  await write(digest)
}

export type PagedLists = Root & { readonly list: (name: string) => readonly unknown[] }

/** `undefined` where the root is not there; a root without one of its pages is damaged. */
export const readPaged = async (
  store: BlobStore,
  keyOf: (digest: string) => string,
  digest: string,
): Promise<PagedLists | undefined> => {
  const root = await readPage(store, keyOf, digest, isRoot)
  if (root === undefined) return undefined
  const read = async (name: string): Promise<readonly [string, readonly unknown[]]> => {
    const pages = await inParallel(root.lists[name] ?? [], async (page) => {
      const items = await readPage(store, keyOf, page, isList)
      if (items === undefined) throw new DamagedObject(keyOf(page), 'it is missing')
      return items
    })
    return [name, pages.flat()]
  }
  const lists = new Map(await Promise.all(Object.keys(root.lists).map(read)))
  return { ...root, list: (name) => lists.get(name) ?? [] }
}
