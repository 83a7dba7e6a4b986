import type { Manifests } from './model/manifests.ts'

/** Reads all documents under a path. A path that cannot be read throws: a partial read is no read. */
export type ReadManifests = (path: string) => Promise<Manifests>
