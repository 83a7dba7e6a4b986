import { expect, test } from 'vitest'
import { isPointer, RUNS } from '../core/model/publication.ts'
import type { BlobStore } from '../core/ports.ts'
import { registryKeys } from '../functions/publication/keys.ts'
import { readJson } from '../functions/publication/objects.ts'
import { readManifest } from '../functions/publication/read-manifest.ts'
import { readState } from '../functions/publication/state-object.ts'
import { at, openPublishing, server } from './publishing.ts'

const SYNCS = 20

/** Sequence 21: syncs that run at the same time, each with a snapshot and a handle of the store of its own. */
export const describeRaces = (name: string, open: () => Promise<() => Promise<BlobStore>>, rounds: number): void => {
  test(`21: ${SYNCS} syncs at once on ${name}, ${rounds} rounds: who says that it won is in the history, without a gap`, async () => {
    const handle = await open()
    // Each has a handle of the store, as each process would.
    const stores = await Promise.all(Array.from({ length: SYNCS }, handle))
    const won: number[] = []
    for (let round = 0; round < rounds; round++) {
      const results = await Promise.all(
        stores.map(async (store, index) => {
          const publishing = openPublishing(store, 'publish: { keep: 10000 }')
          const title = { annotations: { 'registry-title': `Round ${round}, sync ${index}` } }
          return publishing.runSync(() => at(round) + index, [server('common'), server('own', title)])
        }),
      )
      for (const { isComplete, registries } of results) {
        expect(isComplete).toBe(true)
        for (const { report } of registries)
          if (report.action === 'write' && report.sequence !== undefined) won.push(report.sequence)
      }
    }
    const store = await handle()
    const keys = registryKeys('default')
    const pointer = (await readJson(store, keys.pointer, isPointer))?.value
    if (pointer === undefined) throw new Error('nothing was published')
    const sequences = pointer.history.map(({ sequence }) => sequence)
    expect(sequences).toEqual(Array.from({ length: pointer.sequence }, (_, index) => index + 1))
    expect(won.toSorted((a, b) => a - b)).toEqual([...new Set(won)].toSorted((a, b) => a - b))
    expect(won.filter((sequence) => !sequences.includes(sequence))).toEqual([])
    expect(won.length).toBeGreaterThanOrEqual(rounds)
    // All that the pointer names is there; readState throws where a page of it is not.
    await readState(store, 'default', pointer.state)
    const stored = new Set(await store.list('default'))
    const manifest = await readManifest(store, 'default', pointer.publication)
    const chunks = RUNS.flatMap((run) => manifest?.runs[run] ?? []).map(({ digest }) => keys.chunk(digest))
    expect(chunks.length).toBeGreaterThan(0)
    expect([keys.columns(pointer.publication), ...chunks].filter((key) => !stored.has(key))).toEqual([])
    // The last snapshot of all is the one that is served.
    const last = await openPublishing(store).entries()
    expect(JSON.stringify(last)).toContain(`Round ${rounds - 1}, sync ${SYNCS - 1}`)
  }, 900_000)
}
