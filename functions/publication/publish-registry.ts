import type { Compiled } from '../../core/compile/compile.ts'
import { isQuiet } from '../../core/model/finding.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { type Pointer, timeOf } from '../../core/model/publication.ts'
import { findingJson } from '../../core/model/render-finding.ts'
import type { RegistryState } from '../../core/model/state.ts'
import type { BlobStore, Etag } from '../../core/ports.ts'
import { type Assembled, assemble } from '../../core/publish/assemble.ts'
import { findWithdrawnSince } from '../../core/publish/find-withdrawn-since.ts'
import { nextDeadline, nextPointer, type PointerChange } from '../../core/publish/next-pointer.ts'
import { type PublicationPlan, planPublication } from '../../core/publish/plan-publication.ts'
import type { Config } from '../config/config.ts'
import { createChunkCache } from './chunk-cache.ts'
import type { Folded } from './fold-registries.ts'
import { gzip } from './gzip.ts'
import { registryKeys } from './keys.ts'
import { absentIfDamaged, DamagedObject, encodeJson, readReplaceable } from './objects.ts'
import { openPublication } from './open-publication.ts'
import { writePaged } from './paged.ts'
import { readPointer, swapPointer } from './pointer-object.ts'
import { chunksOf, readManifest } from './read-manifest.ts'
import { isReport } from './report.ts'
import { readState, toStateObject } from './state-object.ts'

/** A registry as it is in the store; without a pointer it was never published. */
export type PublishedRegistry = { readonly pointer: Pointer; readonly etag: Etag; readonly state: RegistryState }

/** How much and how long is kept. */
export type Keeping = Pick<Config['publish'], 'keep' | 'tombstones'> & { readonly pendingGrace: number }

export const keepingOf = ({ publish, discovery }: Config): Keeping => ({
  keep: publish.keep,
  tombstones: publish.tombstones,
  pendingGrace: discovery.pendingGrace,
})

export type Published =
  | { readonly kind: 'published'; readonly plan: PublicationPlan; readonly pointer: Pointer }
  | { readonly kind: 'lost' }

export const readRegistry = async (store: BlobStore, registry: string): Promise<PublishedRegistry | undefined> => {
  const found = await readPointer(store, registry)
  if (found === undefined) {
    const keys = registryKeys(registry)
    const report = (await readReplaceable(store, keys.report, isReport))?.value
    // A report of a publication is only written after its pointer: that was there, and to begin anew would forget all.
    if (report?.sequence !== undefined)
      throw new DamagedObject(keys.pointer, `it is missing; to begin anew, delete ${keys.report} too`)
    return undefined
  }
  return { pointer: found.value, etag: found.etag, state: await readState(store, registry, found.value.state) }
}

/** What need not be stored again. Where nobody can say what is there, everything is. */
const knownChunks = async (
  store: BlobStore,
  registry: string,
  publication: string | undefined,
): Promise<ReadonlySet<string>> => {
  const manifest =
    publication === undefined ? undefined : await readManifest(store, registry, publication).catch(absentIfDamaged)
  return new Set(manifest && chunksOf(manifest))
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

const activeCount = ({ document }: Compiled): number =>
  document.entries.filter(({ status }) => status === 'active').length

/** May the document that a rollback brought back stay? Not with an entry that has ended since, by its grace for one. */
const canHold = async (store: BlobStore, before: PublishedRegistry | undefined, folded: Folded): Promise<boolean> => {
  if (before?.pointer.heldInput === undefined || before.pointer.heldInput !== folded.input) return false
  const { registry, compiled } = folded
  const { publication } = before.pointer
  const held = await openPublication(store, createChunkCache(), registry.name, publication).catch(absentIfDamaged)
  return held !== undefined && findWithdrawnSince(held.columns, compiled.state).length === 0
}

/** Makes what was compiled current, if that changes anything; somebody else may have been faster. */
export const publishRegistry = async (
  store: BlobStore,
  folded: Folded,
  before: PublishedRegistry | undefined,
  findings: Compiled['findings'],
  now: number,
  keeping: Keeping,
): Promise<Published> => {
  const { compiled, input, sources, approvedLosses } = folded
  const { name } = folded.registry
  const paged = compiled.state === before?.state ? undefined : toStateObject(compiled.state)
  const state = paged?.digest ?? before?.pointer.state ?? ''
  const { digest: document } = compiled.document
  const approved = approvedLosses.length === 0 ? {} : { approvedLosses }
  const next = { document, state, input, ...approved }
  const plan = planPublication(before?.pointer, next, await canHold(store, before, folded))
  if (before !== undefined && plan.action === 'keep') return { kind: 'published', plan, pointer: before.pointer }

  const rest = { now, keep: keeping.keep, ...approved }
  if (before !== undefined && plan.isHeld) {
    const { sequence: _, at: __, history, approvedLosses: ___, ...held } = before.pointer
    const change: PointerChange = { ...held, ...rest, action: 'note', servers: history.at(-1)?.servers ?? 0 }
    const pointer = nextPointer(before.pointer, change)
    return (await swapPointer(store, name, pointer, before.etag))
      ? { kind: 'published', plan, pointer }
      : { kind: 'lost' }
  }
  if (paged !== undefined) await writePaged(store, registryKeys(name).state, paged, before?.pointer.state)
  const assembled = plan.action === 'write' ? assemble(compiled.document) : undefined
  const deadline = nextDeadline(compiled.state, keeping)
  const pointer = nextPointer(before?.pointer, {
    ...next,
    ...rest,
    action: assembled === undefined ? 'note' : 'write',
    publication: assembled?.digest ?? before?.pointer.publication ?? '',
    sources,
    ...(deadline !== undefined && { nextDeadline: timeOf(deadline) }),
    servers: activeCount(compiled),
  })
  if (assembled !== undefined) {
    const known = await knownChunks(store, name, before?.pointer.publication)
    await writeDocument(store, name, pointer.publication, assembled, findings, known)
  }
  return (await swapPointer(store, name, pointer, before?.etag))
    ? { kind: 'published', plan, pointer }
    : { kind: 'lost' }
}
