import type { Compiled } from '../../core/compile/compile.ts'
import { isQuiet } from '../../core/model/finding.ts'
import { isManifest, isPointer, type Pointer, RUNS, timeOf } from '../../core/model/publication.ts'
import { findingJson } from '../../core/model/render-finding.ts'
import type { RegistryState } from '../../core/model/state.ts'
import type { BlobStore, Etag } from '../../core/ports.ts'
import { type Assembled, assemble } from '../../core/publish/assemble.ts'
import { nextDeadline, nextPointer, type PointerChange } from '../../core/publish/next-pointer.ts'
import { type PublicationPlan, planPublication } from '../../core/publish/plan.ts'
import { gzip } from './gzip.ts'
import { registryKeys } from './keys.ts'
import { encodeJson, inParallel, parseJson, readJson, readVerified } from './objects.ts'
import { writePaged } from './paged.ts'
import { readState, toStateObject } from './state-object.ts'

/** A registry as it is in the store; without a pointer it was never published. */
export type PublishedRegistry = { readonly pointer: Pointer; readonly etag: Etag; readonly state: RegistryState }

export type Publishing = {
  readonly registry: string
  readonly compiled: Compiled
  readonly input: string
  readonly sources: Pointer['sources']
  readonly before: PublishedRegistry | undefined
  /** Those of sources that could not be asked yet whether they still apply. */
  readonly approvedLosses: readonly string[]
  readonly now: number
  readonly keep: number
  readonly tombstones: number
  readonly pendingGrace: number
}

export type Published =
  | { readonly kind: 'published'; readonly plan: PublicationPlan; readonly pointer: Pointer }
  | { readonly kind: 'lost' }

export const readPointer = (store: BlobStore, registry: string) =>
  readJson(store, registryKeys(registry).pointer, isPointer)

export const readRegistry = async (store: BlobStore, registry: string): Promise<PublishedRegistry | undefined> => {
  const found = await readPointer(store, registry)
  if (found === undefined) return undefined
  return { pointer: found.value, etag: found.etag, state: await readState(store, registry, found.value.state) }
}

/** The chunks that a publication names; `undefined` where its manifest is not there. */
export const readManifest = async (store: BlobStore, registry: string, publication: string) => {
  const key = registryKeys(registry).manifest(publication)
  const digest = publication.slice(publication.indexOf('-') + 1)
  const bytes = await readVerified(store, key, digest, false)
  return bytes && parseJson(key, bytes, isManifest)
}

const chunksOf = async (store: BlobStore, registry: string, publication: string | undefined): Promise<Set<string>> => {
  const manifest = publication === undefined ? undefined : await readManifest(store, registry, publication)
  return new Set(manifest && RUNS.flatMap((run) => manifest.runs[run].map(({ digest }) => digest)))
}

/** Stores a document beside the others. Until a pointer names it, nobody reads it. */
export const writeDocument = async (
  store: BlobStore,
  registry: string,
  publication: string,
  assembled: Assembled,
  findings: Compiled['findings'],
  known: ReadonlySet<string>,
): Promise<void> => {
  const keys = registryKeys(registry)
  await inParallel(
    [...assembled.chunks].filter(([digest]) => !known.has(digest)),
    ([digest, bytes]) => store.write(keys.chunk(digest), bytes, 'any'),
  )
  const said = findings.filter((finding) => !isQuiet(finding)).map(findingJson)
  await store.write(keys.findings(publication), encodeJson(said), 'any')
  await store.write(keys.columns(publication), await gzip(assembled.columns), 'any')
  await store.write(keys.manifest(publication), assembled.manifest, 'any')
}

/**
 * The one write that decides. `false`: somebody else was faster, or our own answer got lost on its way; who looks again
 * finds out which.
 */
export const swapPointer = async (
  store: BlobStore,
  registry: string,
  pointer: Pointer,
  etag: Etag | undefined,
): Promise<boolean> => {
  const expected = etag === undefined ? 'absent' : { etag }
  return (await store.write(registryKeys(registry).pointer, encodeJson(pointer), expected)).kind === 'written'
}

const activeCount = ({ document }: Compiled): number =>
  document.entries.filter(({ status }) => status === 'active').length

/** Makes what was compiled current, if that changes anything; somebody else may have been faster. */
export const publishRegistry = async (
  store: BlobStore,
  publishing: Publishing,
  findings: Compiled['findings'],
): Promise<Published> => {
  const { registry, compiled, input, sources, before, approvedLosses, now, keep } = publishing
  const keys = registryKeys(registry)
  const paged = compiled.state === before?.state ? undefined : toStateObject(compiled.state)
  const state = paged?.digest ?? before?.pointer.state ?? ''
  const { digest: document } = compiled.document
  const plan = planPublication(before?.pointer, { document, state, input })
  if (plan.action === 'keep' && before !== undefined) return { kind: 'published', plan, pointer: before.pointer }

  if (paged !== undefined) await writePaged(store, keys.state, paged, before?.pointer.state)
  const assembled = plan.action === 'write' ? assemble(compiled.document) : undefined
  const deadline = nextDeadline(compiled.state, publishing)
  const change: PointerChange = {
    action: assembled === undefined ? 'note' : 'write',
    publication: assembled?.digest ?? before?.pointer.publication ?? '',
    document,
    state,
    input,
    sources,
    ...(deadline !== undefined && { nextDeadline: timeOf(deadline) }),
    ...(approvedLosses.length > 0 && { approvedLosses }),
    servers: activeCount(compiled),
    now,
    keep,
  }
  const pointer = nextPointer(before?.pointer, change)
  if (assembled !== undefined) {
    const known = await chunksOf(store, registry, before?.pointer.publication)
    await writeDocument(store, registry, pointer.publication, assembled, findings, known)
  }
  const isOurs = await swapPointer(store, registry, pointer, before?.etag)
  return isOurs ? { kind: 'published', plan, pointer } : { kind: 'lost' }
}
