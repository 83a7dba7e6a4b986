import { canonicalJson } from '../../core/model/canonical-json.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { type Index, isIndex } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import type { Config } from '../config/config.ts'
import { INDEX_KEY } from './keys.ts'
import { encodeJson, readJson } from './objects.ts'

const MOST_ATTEMPTS = 100

/** A registry that claims restrict is not empty, it is not there. */
export const indexOf = ({ registries, auth, serve }: Config): Index => ({
  registries: registries.filter(({ hasClaims }) => !hasClaims).map(({ name }) => ({ name })),
  auth: { mode: auth.mode },
  serve,
})

/** Tells readers what the configuration says, whenever that differs from what they were told. */
export const writeIndex = async (store: BlobStore, config: Config): Promise<void> => {
  const index = indexOf(config)
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const before = await readJson(store, INDEX_KEY, isIndex)
    if (before !== undefined && canonicalJson(before.value) === canonicalJson(index)) return
    const expected = before === undefined ? 'absent' : { etag: before.etag }
    if ((await store.write(INDEX_KEY, encodeJson(index), expected)).kind === 'written') return
  }
  throw new OperationError(
    'TooManySyncs',
    `${INDEX_KEY} was changed by other syncs ${MOST_ATTEMPTS} times in a row. Give each configuration a store or a prefix of its own.`,
  )
}
