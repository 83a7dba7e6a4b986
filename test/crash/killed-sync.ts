import { readFileSync } from 'node:fs'
import { openStore } from '../../adapters/store/open-store.ts'
import type { BlobStore } from '../../core/ports.ts'
import { readSource } from '../../functions/compile.ts'
import type { Config } from '../../functions/config/config.ts'
import { sync } from '../../functions/sync.ts'

// A sync in a process of its own, which ends itself at a call of its store, as a machine that fails would end it. What
// it is to do comes as JSON on standard input; where it is not ended, it prints the calls that it made.

/** `call` counts from 0, in the order in which calls begin. */
export type KillPoint = { readonly when: 'before' | 'after'; readonly call: number }

export type KilledSync = {
  readonly url: string
  readonly config: Config
  /** What the cluster of every source shows. */
  readonly objects: readonly unknown[]
  readonly now: number
  readonly kill?: KillPoint
}

const die = (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

const dying = (store: BlobStore, calls: string[], kill: KillPoint | undefined): BlobStore => {
  const isAt = (when: KillPoint['when'], call: number): boolean => kill?.when === when && kill.call === call
  const call = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
    const number = calls.push(what) - 1
    if (isAt('before', number)) await die()
    const answer = await act()
    if (isAt('after', number)) await die()
    return answer
  }
  return {
    read: (key, known) => call(`read ${key}`, () => store.read(key, known)),
    write: (key, bytes, expected) => call(`write ${key}`, () => store.write(key, bytes, expected)),
    list: (folder) => call(`list ${folder}`, () => store.list(folder)),
    delete: (key) => call(`delete ${key}`, () => store.delete(key)),
  }
}

const { url, config, objects, now, kill }: KilledSync = JSON.parse(readFileSync(0, 'utf8'))
const calls: string[] = []
const store = dying(await openStore(url, { environment: process.env }), calls, kill)
const value = { apiVersion: 'v1', kind: 'List', items: objects }
const manifests = { root: 'cluster', documents: [{ kind: 'read', file: 'cluster', document: 1, value }] } as const
// Who kills by the clock starts it now.
process.stderr.write('begun\n')
await sync(config, { store, now: () => now, readSource: async (source) => readSource(source, manifests, 'manifests') })
process.stdout.write(JSON.stringify(calls))
