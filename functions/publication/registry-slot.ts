import { OperationError } from '../../core/model/operation-error.ts'
import { isPointer, type Pointer } from '../../core/model/publication.ts'
import type { BlobStore, Etag } from '../../core/ports.ts'
import type { ChunkCache } from './chunk-cache.ts'
import { registryKeys } from './keys.ts'
import { DamagedObject, parseJson } from './objects.ts'
import { type OpenPublication, openPublication } from './open-publication.ts'

/** What is wrong with what the store says. `detail` is for everyone, so it does not say where the store is. */
export type ReadProblem = { readonly status: 'stale' | 'store-away' | 'corrupt'; readonly detail: string }

/** What a reader has of one registry. */
export type RegistrySlot = {
  /** The newest publication that could be read whole, and the one before it. */
  readonly open: () => readonly OpenPublication[]
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
    ? { status: 'corrupt', detail: error.message }
    : { status: 'store-away', detail: 'The store cannot be read at the moment.' }
}

export const createSlot = (
  store: BlobStore,
  cache: ChunkCache,
  registry: string,
  now: () => number,
  tellOperator: (message: string) => void,
): RegistrySlot => {
  let current: OpenPublication | undefined
  let previous: OpenPublication | undefined
  let known: { readonly pointer: Pointer; readonly etag: Etag } | undefined
  let problem: ReadProblem | undefined
  let checkedAt: number | undefined
  let distrusted: OpenPublication | undefined

  const show = (next: OpenPublication): void => {
    if (next.publication !== current?.publication) previous = current
    current = next
  }

  /** The publication of a pointer, or, where we have nothing and that is damaged, the one before it. */
  const follow = async (pointer: Pointer): Promise<void> => {
    if (current?.publication === pointer.publication && current !== distrusted) return
    try {
      const next = await openPublication(store, cache, registry, pointer.publication)
      if (distrusted?.publication === next.publication) await Promise.all(distrusted.damaged().map(next.read))
      show(next)
      distrusted = undefined
    } catch (error) {
      const earlier = pointer.history.findLast(({ publication }) => publication !== pointer.publication)
      if (current === undefined && error instanceof DamagedObject && earlier !== undefined)
        show(await openPublication(store, cache, registry, earlier.publication))
      throw error
    }
  }

  const look = async (): Promise<ReadProblem | undefined> => {
    const key = registryKeys(registry).pointer
    const answer = await store.read(key, problem?.status === 'corrupt' ? undefined : known?.etag)
    if (answer.kind === 'unchanged') return undefined
    if (answer.kind === 'absent')
      return known === undefined ? undefined : { status: 'corrupt', detail: `${key} is missing from the store.` }
    const pointer = parseJson(key, answer.bytes, isPointer)
    if (known !== undefined && pointer.at < known.pointer.at)
      return {
        status: 'stale',
        detail: `The store returned an older pointer: sequence ${pointer.sequence} of ${pointer.at} after ${known.pointer.sequence} of ${known.pointer.at}.`,
      }
    await follow(pointer)
    known = { pointer, etag: answer.etag }
    return undefined
  }

  return {
    open: () => [current, previous].filter((each) => each !== undefined),
    pointer: () => known?.pointer,
    problem: () => problem,
    checkedAt: () => checkedAt,
    refresh: async () => {
      try {
        problem = await look()
        if (problem === undefined) checkedAt = now()
      } catch (error) {
        problem = problemOf(error, tellOperator)
      }
    },
    distrust: (publication, error) => {
      problem = problemOf(error, tellOperator)
      if (publication !== current) return
      distrusted = publication
      if (previous !== undefined) [current, previous] = [previous, undefined]
    },
  }
}
