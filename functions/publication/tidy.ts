import type { Compiled } from '../../core/compile/compile.ts'
import { inParallel } from '../../core/model/in-parallel.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { Pointer } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { assemble } from '../../core/publish/assemble.ts'
import type { Config } from '../config/config.ts'
import { findDamage } from './find-damage.ts'
import { registryKeys, sourceKeys } from './keys.ts'
import type { SettledSource } from './last-good.ts'
import { writePaged } from './paged.ts'
import { writeDocument } from './publish-registry.ts'
import { toResultObject } from './source-result.ts'
import { toStateObject } from './state-object.ts'
import { type Missing, sweep } from './sweep.ts'

/** What a sync has made, with which it can mend what the store has lost. */
export type Made = {
  readonly hasWritten: boolean
  readonly settled: readonly SettledSource[]
  readonly registries: readonly {
    readonly name: string
    readonly compiled: Compiled | undefined
    readonly pointer: Pointer | undefined
    readonly action: string
  }[]
}

/** Stores again what is needed and lost, where that is what was just read or compiled. */
const repair = async (store: BlobStore, { settled, registries }: Made, missing: readonly Missing[]): Promise<void> => {
  const lacks = (folder: string): boolean => missing.some(({ key }) => key.startsWith(`${folder}/`))
  for (const { name, result, state } of settled) {
    if (result === undefined || !lacks(sourceKeys(name).folder)) continue
    const paged = toResultObject(result)
    if (paged.digest === state.good?.hash) await writePaged(store, sourceKeys(name).result, paged, undefined)
  }
  for (const { name, compiled, pointer } of registries) {
    const keys = registryKeys(name)
    if (compiled === undefined || pointer === undefined || !lacks(keys.folder)) continue
    const state = toStateObject(compiled.state)
    if (state.digest === pointer.state) await writePaged(store, keys.state, state, undefined)
    const assembled = assemble(compiled.document)
    if (pointer.publication.endsWith(`-${assembled.digest}`))
      await writeDocument(store, name, pointer.publication, assembled, compiled.findings, new Set())
  }
}

/** What is wrong with the store after the housekeeping. `isCurrent`: what is served, or what a sync needs, is not whole. */
export type Untidy = { readonly problem: string; readonly isCurrent: boolean }

/** Housekeeping after the publication: when it fails that is said, and the next sync does it. */
export const tidy = async (config: Config, store: BlobStore, made: Made, now: number): Promise<Untidy | undefined> => {
  try {
    const published = new Map(
      made.registries.flatMap(({ name, pointer }) => (pointer === undefined ? [] : [[name, pointer] as const])),
    )
    // What a registry needs that cannot be read now, nobody knows.
    const isWhole = made.registries.every(({ action }) => action !== 'failed')
    const sources = isWhole ? config.sources.map(({ name }) => name) : []
    const missing = await sweep(store, published, sources, made.hasWritten, now)
    if (missing.length === 0) return undefined
    await repair(store, made, missing)
    const looked = await inParallel(missing, async (each) => ({ ...each, answer: await store.read(each.key) }))
    const mended = await inParallel([...published], ([name, pointer]) => findDamage(store, name, pointer, true))
    const gone = looked.filter(({ key, answer }) => answer.kind === 'absent' || mended.flat().includes(key))
    const [first] = gone
    if (first === undefined) return undefined
    return {
      problem: `The store has lost or damaged ${first.key}${gone.length > 1 ? ` and ${gone.length - 1} more` : ''}. Restore it from a backup or a version of the bucket.`,
      isCurrent: gone.some(({ isCurrent }) => isCurrent),
    }
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    return { problem: error.message, isCurrent: false }
  }
}
