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

/**
 * Tells readers what the configuration says, whenever that differs from what they were told. A sync that began before
 * somebody else said something else has an older configuration: it must not open what was closed since.
 */
export const writeIndex = (store: BlobStore, config: Config, began: number, now: number): Promise<void> =>
  untilWon(INDEX_KEY, async () => {
    const before = await readReplaceable(store, INDEX_KEY, isIndex)
    const { at, digest: _, ...told } = before?.value ?? { at: '', digest: '' }
    if (isSameJson(told, indexOf(config))) return
    if (at > timeOf(began) && at <= timeOf(now + CLOCK_TOLERANCE))
      throw new OperationError(
        'ConfigurationOlder',
        'A sync with another configuration began after this one and has published already. Run it again if this is the configuration that is meant.',
      )
    const said = { ...indexOf(config), at: timeOf(began) }
    const index: Index = { ...said, digest: indexDigest(said) }
    const written = await store.write(
      INDEX_KEY,
      encodeJson(index),
      before === undefined ? 'absent' : { etag: before.etag },
    )
    return written.kind === 'written' ? undefined : 'lost'
  })
