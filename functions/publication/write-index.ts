import { canonicalJson, isSameJson } from '../../core/model/canonical-json.ts'
import { digestOf } from '../../core/model/digest.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { type Index, indexDigest, isIndex, timeOf } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import type { Config } from '../config/config.ts'
import { CLOCK_TOLERANCE } from './clock-tolerance.ts'
import { INDEX_KEY } from './keys.ts'
import { encodeJson, readReplaceable } from './objects.ts'
import { untilWon } from './until-won.ts'

/** A registry that claims restrict is not empty, it is not there. */
export const indexOf = (config: Config): Omit<Index, 'at' | 'digest'> => {
  const { registries, sources, discovery, publish, auth, serve } = config
  const { tombstones, kubernetesMetadata } = publish
  return {
    registries: registries.filter(({ hasClaims }) => !hasClaims).map(({ name }) => ({ name })),
    auth: { mode: auth.mode },
    serve,
    configuration: digestOf(canonicalJson({ registries, sources, discovery, tombstones, kubernetesMetadata })),
  }
}

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
  const names = new Set(indexOf(config).registries.map(({ name }) => name))
  return {
    expected: before === undefined ? ('absent' as const) : { etag: before.etag },
    // Never the time of the one before: a reader must see which is newer.
    at: timeOf(Math.max(began, at === '' ? 0 : Date.parse(at) + 1)),
    dropped: (before?.value?.registries ?? []).map(({ name }) => name).filter((name) => !names.has(name)),
  }
}

/** A sync that began before somebody else said something else has an older configuration, and must not publish with it. */
export const checkIndex = async (store: BlobStore, config: Config, began: number, now: number): Promise<void> => {
  await findChange(store, config, began, now)
}

/**
 * Tells readers what the configuration says, whenever that differs from what they were told; after the registries that it
 * names. Gives those that are served no longer.
 */
export const writeIndex = (store: BlobStore, config: Config, began: number, now: number): Promise<readonly string[]> =>
  untilWon(INDEX_KEY, async () => {
    const change = await findChange(store, config, began, now)
    if (change === undefined) return []
    const said = { ...indexOf(config), at: change.at }
    const index: Index = { ...said, digest: indexDigest(said) }
    const written = await store.write(INDEX_KEY, encodeJson(index), change.expected)
    return written.kind === 'written' ? change.dropped : 'lost'
  })
