import type { Compiled } from '../../core/compile/compile.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { Pointer } from '../../core/model/publication.ts'
import type { BlobStore } from '../../core/ports.ts'
import { assemble } from '../../core/publish/assemble.ts'
import type { Config } from '../config/config.ts'
import { inParallel } from './in-parallel.ts'
import { registryKeys, sourceKeys } from './keys.ts'
import { writePaged } from './paged.ts'
import { writeDocument } from './publish-registry.ts'
import type { SettledSource } from './settle-source.ts'
import { toResultObject } from './source-result.ts'
import { toStateObject } from './state-object.ts'
import { sweep } from './sweep.ts'

/** What a sync has made, with which it can mend what the store has lost. */
export type Made = {
  readonly hasWritten: boolean
  readonly settled: readonly SettledSource[]
  readonly registries: readonly {
    readonly name: string
    readonly compiled: Compiled | undefined
    readonly pointer: Pointer | undefined
  }[]
}

/** Stores again what is needed and lost, where that is what was just read or compiled. */
const repair = async (store: BlobStore, { settled, registries }: Made, missing: readonly string[]): Promise<void> => {
  const lacks = (folder: string): boolean => missing.some((key) => key.startsWith(`${folder}/`))
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

/** Housekeeping after the publication: when it fails that is said, and the next sync does it. What is wrong, if anything. */
export const tidy = async (config: Config, store: BlobStore, made: Made, now: number): Promise<string | undefined> => {
  try {
    const published = new Map(
      made.registries.flatMap(({ name, pointer }) => (pointer === undefined ? [] : [[name, pointer] as const])),
    )
    const sources = config.sources.map(({ name }) => name)
    const missing = await sweep(store, published, sources, made.hasWritten, now)
    if (missing.length === 0) return undefined
    await repair(store, made, missing)
    const answers = await inParallel(missing, async (key) => [key, (await store.read(key)).kind] as const)
    const [first, ...others] = answers.filter(([, kind]) => kind === 'absent').map(([key]) => key)
    if (first === undefined) return undefined
    return `The store has lost ${first}${others.length > 0 ? ` and ${others.length} more` : ''}. Restore it from a backup or a version of the bucket; until then nothing is tidied up.`
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    return error.message
  }
}
