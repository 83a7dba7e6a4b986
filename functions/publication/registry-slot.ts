import { OperationError } from '../../core/model/operation-error.ts'
import { isPointer, type Pointer } from '../../core/model/publication.ts'
import type { BlobStore, Etag } from '../../core/ports.ts'
import type { ChunkCache } from './chunk-cache.ts'
import { registryKeys } from './keys.ts'
import { DamagedObject, parseJson } from './objects.ts'
import { type OpenPublication, openPublication } from './open-publication.ts'

/** What is wrong with what the store says. `detail` is for everyone, so it names neither the store nor what is in it. */
export type ReadProblem = { readonly status: 'stale' | 'store-away' | 'corrupt'; readonly detail: string }

/** A publication that can be asked, and since when it is not what the store calls current. */
export type Readable = { readonly publication: OpenPublication; readonly supersededAt?: number }

/** What a reader has of one registry. */
export type RegistrySlot = {
  readonly newest: () => OpenPublication | undefined
  /** The newest publication that could be read, and the one before it. */
  readonly open: () => readonly Readable[]
  /** Was an answer given from it while it was the newest? */
  readonly isHeard: (publication: OpenPublication) => boolean
  readonly hear: (publication: OpenPublication) => void
  readonly pointer: () => Pointer | undefined
  readonly problem: () => ReadProblem | undefined
  /** When the store last said that this is the newest, in milliseconds. */
  readonly checkedAt: () => number | undefined
  /** Asks the store for a newer publication. Never throws: what went wrong is the problem. */
  readonly refresh: () => Promise<void>
  /** A part of this publication turned out to be damaged: it is not used again before that part can be read. */
  readonly distrust: (publication: OpenPublication, error: DamagedObject) => void
}

/** Tells the operator all of it, and everyone else what they need. An error that is not the store's is ours. */
export const problemOf = (error: unknown, tellOperator: (message: string) => void): ReadProblem => {
  if (!(error instanceof OperationError)) throw error
  tellOperator(error.message)
  return error instanceof DamagedObject
    ? { status: 'corrupt', detail: 'A part of the newest publication is missing or damaged.' }
    : { status: 'store-away', detail: 'The store cannot be read at the moment.' }
}

export const createSlot = (
  store: BlobStore,
  cache: ChunkCache,
  registry: string,
  now: () => number,
  tellOperator: (message: string) => void,
): RegistrySlot => {
  /** The newest last. */
  let opened: readonly OpenPublication[] = []
  let known: { readonly pointer: Pointer; readonly etag: Etag } | undefined
  let problem: ReadProblem | undefined
  let checkedAt: number | undefined
  let distrusted: OpenPublication | undefined
  let heard = ''

  const isOpen = (publication: string): boolean => opened.at(-1)?.publication === publication

  const show = (next: OpenPublication): void => {
    opened = [...opened.filter(({ publication }) => publication !== next.publication), next].slice(-2)
  }

  /** Opens a publication; one that was damaged before must give the part that was. */
  const openTrusted = async (publication: string): Promise<OpenPublication> => {
    const next = await openPublication(store, cache, registry, publication)
    if (distrusted?.publication === publication) await Promise.all(distrusted.damaged().map(next.read))
    return next
  }

  /** The publication of a pointer, or, where that is damaged and we have nothing, the one before it. */
  const follow = async (pointer: Pointer): Promise<void> => {
    if (isOpen(pointer.publication)) return
    try {
      const next = await openTrusted(pointer.publication)
      // Meanwhile another look may have found a newer one.
      if (known !== undefined && known.pointer.at > pointer.at) return
      show(next)
      distrusted = undefined
    } catch (error) {
      const earlier = pointer.history.findLast(({ publication }) => publication !== pointer.publication)
      if (opened.length === 0 && error instanceof DamagedObject && earlier !== undefined)
        show(await openPublication(store, cache, registry, earlier.publication))
      throw error
    }
  }

  const look = async (): Promise<ReadProblem | undefined> => {
    const key = registryKeys(registry).pointer
    const isCurrent = known !== undefined && isOpen(known.pointer.publication)
    const answer = await store.read(key, isCurrent ? known?.etag : undefined)
    if (answer.kind === 'unchanged') return undefined
    if (answer.kind === 'absent')
      return known && { status: 'corrupt', detail: 'The pointer is missing from the store.' }
    const pointer = parseJson(key, answer.bytes, isPointer)
    if (known !== undefined && pointer.at < known.pointer.at)
      return {
        status: 'stale',
        detail: `The store returned an older pointer: sequence ${pointer.sequence} of ${pointer.at} after ${known.pointer.sequence} of ${known.pointer.at}.`,
      }
    known = { pointer, etag: answer.etag }
    await follow(pointer)
    return undefined
  }

  /** Since when another publication is current than the one that is shown. */
  const supersededAt = (publication: string): number | undefined => {
    const history = known?.pointer.history ?? []
    const last = history.findLastIndex((item) => item.publication === publication)
    const successor = history[last + 1]
    return successor === undefined || last === -1 ? undefined : Date.parse(successor.at)
  }

  return {
    newest: () => opened.at(-1),
    open: () =>
      opened.toReversed().map((publication): Readable => {
        const since = supersededAt(publication.publication)
        return { publication, ...(since !== undefined && { supersededAt: since }) }
      }),
    isHeard: ({ publication }) => heard === publication,
    hear: ({ publication }) => {
      if (!isOpen(publication)) return
      heard = publication
      // The one before was for the case that this one is damaged; by now it would be opened again.
      opened = opened.slice(-1)
    },
    pointer: () => known?.pointer,
    problem: () => problem,
    checkedAt: () => checkedAt,
    refresh: async () => {
      try {
        const found = await look()
        if (found !== undefined && found.detail !== problem?.detail)
          tellOperator(`Registry ${registry}: ${found.detail}`)
        problem = found
        if (problem === undefined) checkedAt = now()
      } catch (error) {
        problem = problemOf(error, tellOperator)
      }
    },
    distrust: (publication, error) => {
      if (publication === opened.at(-1)) {
        problem = problemOf(error, tellOperator)
        distrusted = publication
      }
      opened = opened.filter((each) => each !== publication)
    },
  }
}
