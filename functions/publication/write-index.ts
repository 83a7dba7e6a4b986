import { isSameJson } from '../../core/model/canonical-json.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { type Index, indexDigest, isIndex, timeOf } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import type { Config } from '../config/config.ts'
import { INDEX_KEY } from './keys.ts'
import { encodeJson, readReplaceable } from './objects.ts'
import { untilWon } from './until-won.ts'

/** A time that is further ahead than that was written by a clock that has been set back since. */
export const CLOCK_TOLERANCE = 60_000

/** A registry that claims restrict is not empty, it is not there. */
export const indexOf = ({ registries, auth, serve }: Config): Omit<Index, 'at' | 'digest'> => ({
  registries: registries.filter(({ hasClaims }) => !hasClaims).map(({ name }) => ({ name })),
  auth: { mode: auth.mode },
  serve,
})

/** `undefined`: readers were told already what this configuration says. */
const findChange = async (store: BlobStore, config: Config, began: number, now: number) => {
  const before = await readReplaceable(store, INDEX_KEY, isIndex)
  const { at, digest: _, ...told } = before?.value ?? { at: '', digest: '' }
  if (isSameJson(told, indexOf(config))) return undefined
  if (at > timeOf(began) && at <= timeOf(now + CLOCK_TOLERANCE))
    throw new OperationError(
      'ConfigurationOlder',
      'A sync with another configuration began after this one and has published already. Run it again if this is the configuration that is meant.',
    )
  return { expected: before === undefined ? ('absent' as const) : { etag: before.etag } }
}

/** A sync that began before somebody else said something else has an older configuration, and must not publish with it. */
export const checkIndex = async (store: BlobStore, config: Config, began: number, now: number): Promise<void> => {
  await findChange(store, config, began, now)
}

/** Tells readers what the configuration says, whenever that differs from what they were told. After the registries that it names. */
export const writeIndex = (store: BlobStore, config: Config, began: number, now: number): Promise<void> =>
  untilWon(INDEX_KEY, async () => {
    const change = await findChange(store, config, began, now)
    if (change === undefined) return undefined
    const said = { ...indexOf(config), at: timeOf(began) }
    const index: Index = { ...said, digest: indexDigest(said) }
    const written = await store.write(INDEX_KEY, encodeJson(index), change.expected)
    return written.kind === 'written' ? undefined : 'lost'
  })
