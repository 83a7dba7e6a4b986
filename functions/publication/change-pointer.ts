import type { Pointer } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { findWithdrawnSince } from '../../core/publish/find-withdrawn-since.ts'
import { nextPointer, type PointerChange } from '../../core/publish/next-pointer.ts'
import { createChunkCache } from './chunk-cache.ts'
import { registryKeys } from './keys.ts'
import { readReplaceable } from './objects.ts'
import { openPublication } from './open-publication.ts'
import { readPointer, swapPointer } from './pointer-object.ts'
import { isReport } from './report.ts'
import { readState } from './state-object.ts'
import { untilWon } from './until-won.ts'

// What a person changes by hand: both write nothing but the pointer, and lose to nobody's sync.

export type Changed =
  | { readonly kind: 'changed'; readonly pointer: Pointer }
  | { readonly kind: 'refused'; readonly reason: string }

type Wanted = Pick<PointerChange, 'action'> & Partial<PointerChange>

/** Tries until nobody else was faster; `decide` sees the pointer as it is each time. */
const changePointer = async (
  store: BlobStore,
  registry: string,
  now: number,
  keep: number,
  decide: (pointer: Pointer) => Promise<Wanted | { readonly refused: string }>,
): Promise<Changed> => {
  return untilWon(`Registry ${registry}`, async (): Promise<Changed | 'lost'> => {
    const before = await readPointer(store, registry)
    if (before === undefined)
      return { kind: 'refused', reason: `Registry ${registry} has never been published; run waypost sync first` }
    const { sequence: _, at: __, history, ...same } = before.value
    const wanted = await decide(before.value)
    if ('refused' in wanted) return { kind: 'refused', reason: wanted.refused }
    const servers = history.at(-1)?.servers ?? 0
    const pointer = nextPointer(before.value, { ...same, servers, now, keep, ...wanted })
    return (await swapPointer(store, registry, pointer, before.etag)) ? { kind: 'changed', pointer } : 'lost'
  })
}

const readReport = async (store: BlobStore, registry: string) =>
  (await readReplaceable(store, registryKeys(registry).report, isReport))?.value

/** Accepts the losses that the last report names; the next sync that sees them lets them pass. */
export const approveLosses = async (
  store: BlobStore,
  registry: string,
  now: number,
  keep: number,
): Promise<Changed> => {
  const losses = (await readReport(store, registry))?.sources.flatMap((source) => source.losses) ?? []
  if (losses.length === 0)
    return {
      kind: 'refused',
      reason: `The last sync of registry ${registry} refused no losses; there is nothing to approve`,
    }
  return changePointer(store, registry, now, keep, async ({ approvedLosses = [] }) => ({
    action: 'approve',
    approvedLosses: [...new Set([...approvedLosses, ...losses])].sort(),
  }))
}

/** Makes an earlier document current again, until the inputs change. What was withdrawn since does not come back. */
export const rollBack = async (
  store: BlobStore,
  registry: string,
  sequence: number,
  at: number,
  keep: number,
): Promise<Changed> => {
  const report = await readReport(store, registry)
  return changePointer(store, registry, at, keep, async (pointer) => {
    const target = pointer.history.find((item) => item.sequence === sequence)
    if (target === undefined)
      return {
        refused: `Registry ${registry} has no publication ${sequence}; there are ${pointer.history[0]?.sequence} to ${pointer.sequence} (waypost history)`,
      }
    if (target.document === pointer.document)
      return { refused: `Publication ${sequence} has the document that registry ${registry} serves already` }
    const { columns } = await openPublication(store, createChunkCache(), registry, target.publication)
    const now = await readState(store, registry, pointer.state)
    const withdrawn = findWithdrawnSince(columns, now, await readState(store, registry, target.state))
    if (withdrawn.length > 0)
      return {
        refused: `Publication ${sequence} lists ${withdrawn.slice(0, 10).join(', ')}${withdrawn.length > 10 ? ` and ${withdrawn.length - 10} more` : ''}, withdrawn or replaced since; what its owner took back does not come back`,
      }
    const { publication, document, servers } = target
    // A sync that changed nothing may have had another input; one that died before its report did not.
    const synced = pointer.history.findLast(({ action }) => action === 'write' || action === 'note')
    const input = report !== undefined && report.at >= (synced?.at ?? '') ? report.input : undefined
    return {
      action: 'rollback',
      publication,
      document,
      servers,
      heldInput: input ?? pointer.heldInput ?? pointer.input,
    }
  })
}
