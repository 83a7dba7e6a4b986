import { isManifest, type Manifest, RUNS } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { registryKeys } from './keys.ts'
import { parseJson, readVerified } from './objects.ts'

/** What a publication consists of, checked against the digest in its name; `undefined` where it is not there. */
export const readManifest = async (
  store: BlobStore,
  registry: string,
  publication: string,
): Promise<Manifest | undefined> => {
  const key = registryKeys(registry).manifest(publication)
  const digest = publication.slice(publication.indexOf('-') + 1)
  const bytes = await readVerified(store, key, digest, false)
  return bytes && parseJson(key, bytes, isManifest)
}

export const chunksOf = (manifest: Manifest): readonly string[] =>
  RUNS.flatMap((run) => manifest.runs[run].map(({ digest }) => digest))
