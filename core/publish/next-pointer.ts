import { type HistoryItem, type Pointer, type PointerAction, type Time, timeOf } from '../model/publication.ts'
import type { RegistryState } from '../model/state.ts'

const DAY = 86_400_000
/** The pointer is read all the time: one grace after another must not make it grow without end. */
const LONGEST = 1000

/** What is new about a pointer; sequence, time and history follow from the one before it. */
export type PointerChange = Omit<Pointer, 'sequence' | 'publication' | 'at' | 'history'> & {
  readonly action: PointerAction
  /** A publication that exists, or the digest of the manifest of a new one. */
  readonly publication: string
  readonly servers: number
  readonly now: number
  readonly keep: number
}

/** Never the time of the one before: who compares two pointers must see which is newer. */
export const timeAfter = (previous: Pointer | undefined, now: number): number =>
  previous === undefined ? now : Math.max(now, Date.parse(previous.at) + 1)

/** The newest that cover the last `keep` publications and all that was current within a day, without a gap. */
export const trimHistory = (items: readonly HistoryItem[], keep: number, at: Time): readonly HistoryItem[] => {
  const dayAgo = timeOf(Date.parse(at) - DAY)
  const publications = new Set<string>()
  let from = items.length
  while (from > 0) {
    const item = items[from - 1]
    const successor = items[from]
    if (item === undefined) break
    publications.add(item.publication)
    const isRecent = successor === undefined || successor.at > dayAgo
    if (!isRecent && (publications.size > keep || items.length - from >= LONGEST)) break
    from--
  }
  return items.slice(from)
}

export const nextPointer = (previous: Pointer | undefined, change: PointerChange): Pointer => {
  const { action, publication: named, servers, now, keep, ...rest } = change
  const sequence = (previous?.sequence ?? 0) + 1
  const at = timeOf(timeAfter(previous, now))
  const publication = action === 'write' ? `${sequence}-${named}` : named
  const item: HistoryItem = {
    sequence,
    action,
    at,
    publication,
    document: rest.document,
    state: rest.state,
    servers,
  }
  return { ...rest, sequence, publication, at, history: trimHistory([...(previous?.history ?? []), item], keep, at) }
}

/** When a state changes by itself: the end of the first grace or tombstone. */
export const nextDeadline = (
  { entries }: RegistryState,
  { tombstones, pendingGrace }: { readonly tombstones: number; readonly pendingGrace: number },
): number | undefined => {
  let first = Number.POSITIVE_INFINITY
  for (const { status, statusChangedAt, remotes } of entries) {
    if (status === 'deleted') first = Math.min(first, statusChangedAt + tombstones)
    for (const { pendingSince } of remotes)
      if (pendingSince !== undefined) first = Math.min(first, pendingSince + pendingGrace)
  }
  return Number.isFinite(first) ? first : undefined
}
