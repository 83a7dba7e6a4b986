import { digestOf } from '../model/digest.ts'
import { cut } from './cut.ts'

/** A long list as JSON arrays that are stored by their digest, so that a change of one item stores one of them anew. */
export type Pages = { readonly digests: readonly string[]; readonly pages: ReadonlyMap<string, string> }

export const paginate = (items: readonly { readonly key: string; readonly json: string }[]): Pages => {
  const pages = new Map<string, string>()
  const digests = cut(items.map((item) => ({ ...item, bytes: item.json.length }))).map((part) => {
    const page = `[${part.map(({ json }) => json).join(',')}]`
    const digest = digestOf(page)
    pages.set(digest, page)
    return digest
  })
  return { digests, pages }
}
