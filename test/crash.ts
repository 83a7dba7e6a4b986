import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { openStore } from '../adapters/store/open-store.ts'
import type { BlobStore } from '../core/ports.ts'
import { createApi } from '../functions/api/api.ts'
import { readSource } from '../functions/compile.ts'
import { type Config, parseConfig } from '../functions/config/config.ts'
import { createReader } from '../functions/publication/reader.ts'
import { type Synced, sync } from '../functions/sync.ts'
import { clockAt } from './clock.ts'
import { CRASHES, type Crash, type Given, HOUR, MINUTE, T0 } from './crash/cases.ts'
import type { KilledSync, KillPoint } from './crash/killed-sync.ts'
import { namedKeys, readHistory } from './crash/named-keys.ts'

export type CrashingStore = {
  /** Everything happens below it, each point in a place of its own. */
  readonly url: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Copies all below one URL to another, where that is faster than object by object. */
  readonly clone?: (from: string, to: string) => void
  /** Which syncs are killed; all of them unless said otherwise. */
  readonly cases?: readonly Crash[]
  /** Where it is killed; before and after every call unless said otherwise. */
  readonly isPoint?: (call: string, when: KillPoint['when']) => boolean
  /** How often it is killed by the clock. */
  readonly moments?: number
  /** What a store keeps for itself, and must not keep for long. */
  readonly leftovers?: (url: string) => readonly string[]
}

const configOf = (yaml: string): Config => {
  const parsed = parseConfig(yaml)
  if (parsed.kind === 'bad') throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}

const syncAt = (store: BlobStore, { config, objects }: Given, now: number): Promise<Synced> => {
  const value = { apiVersion: 'v1', kind: 'List', items: objects }
  const manifests = { root: 'cluster', documents: [{ kind: 'read', file: 'cluster', document: 1, value }] } as const
  return sync(configOf(config), {
    store,
    now: () => now,
    readSource: async (source) => readSource(source, manifests, 'manifests'),
  })
}

const copy = async (from: BlobStore, to: BlobStore): Promise<void> => {
  for (const key of await from.list('')) {
    const object = await from.read(key)
    if (object.kind === 'found') await to.write(key, object.bytes, 'any')
  }
}

const copied = async (store: BlobStore): Promise<BlobStore> => {
  const memory = openMemoryStore()
  await copy(store, memory)
  return memory
}

const below = (url: string, folder: string): string => url.replace(/(?=\?|$)/, `/${folder}`)

type Served = { readonly status: number; readonly body: string }
type Entry = { readonly server: { readonly name: string } }

/** What a process that starts now serves of a registry, with every entry asked for by its name as well. */
const serve = async (store: BlobStore, registry: string, now: number): Promise<Served> => {
  const app = createApi(
    createReader(
      store,
      clockAt(() => now),
    ),
  )
  const answer = await app.request(`/registry/${registry}/v0.1/servers?limit=100`)
  const body = await answer.text()
  if (answer.status === 503 && answer.headers.get('retry-after') === null) throw new Error('503 without Retry-After')
  const ready = await app.request('/readyz')
  if ((ready.status === 200) !== (answer.status === 200) && registry === 'one')
    throw new Error(`/readyz says ${ready.status} ${await ready.text()} where the list is ${answer.status}`)
  if (answer.status !== 200) return { status: answer.status, body }
  const { servers, metadata }: { servers: readonly Entry[]; metadata: { count: number } } = JSON.parse(body)
  if (metadata.count !== servers.length) throw new Error(`${metadata.count} counted, ${servers.length} listed`)
  for (const entry of servers) {
    const path = `/registry/${registry}/v0.1/servers/${encodeURIComponent(entry.server.name)}/versions/latest`
    const alone = await (await app.request(path)).text()
    if (alone !== JSON.stringify(entry)) throw new Error(`${path} gives ${alone}`)
  }
  return { status: 200, body }
}

/** The served list without the times, which depend on when a sync got through. */
const contentOf = ({ status = 0, body = '' }: Partial<Served> = {}): string =>
  status === 200 ? body.replace(/"(publishedAt|updatedAt|statusChangedAt)":"[^"]*"/g, '"$1":""') : String(status)

const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<readonly string[]>) => {
  const problems: string[] = []
  const queue = items.values()
  const worker = async (): Promise<void> => {
    for (const item of queue) problems.push(...(await work(item)))
  }
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, worker))
  return problems
}

/** Runs the suite of crashes against a kind of store. */
export const describeCrashes = (
  name: string,
  { url, environment, clone, leftovers, cases = CRASHES, isPoint = () => true, moments = 30 }: CrashingStore,
): void => {
  let script = ''
  beforeAll(async () => {
    // Bundled it starts five times as fast; inside the project, so that the SDKs of other stores are found.
    const folder = mkdtempSync(new URL('../node_modules/.waypost-crash-', import.meta.url).pathname)
    script = join(folder, 'killed-sync.mjs')
    await build({
      entryPoints: [new URL('crash/killed-sync.ts', import.meta.url).pathname],
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      external: ['@aws-sdk/*', '@azure/*', '@smithy/*'],
      platform: 'node',
      format: 'esm',
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
    })
  })
  afterAll(() => rmSync(dirname(script), { recursive: true, force: true }))

  const open = (place: string): Promise<BlobStore> => openStore(below(url, place), { environment })

  const start = (job: KilledSync) => {
    const child = spawn(process.execPath, [script], { env: { ...environment } })
    // Who is killed early does not read all of it.
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(job))
    return { child, exit: once(child, 'exit'), output: Promise.all([text(child.stdout), text(child.stderr)]) }
  }

  /** What is served before and after a sync, and the calls of its store: one run that nobody kills. */
  const rehearse = async (crash: Crash, place: string) => {
    const { registries, sources } = configOf(crash.killed.config)
    const names = registries.map((registry) => registry.name)
    const lists = (store: BlobStore, now: number) => Promise.all(names.map((each) => serve(store, each, now)))
    const prepared = openMemoryStore()
    for (const { hoursAgo, ...given } of crash.before) await syncAt(prepared, given, T0 - hoursAgo * HOUR)
    const store = await open(place)
    const job = {
      url: below(url, place),
      config: configOf(crash.killed.config),
      objects: crash.killed.objects,
      now: T0,
    }
    const from = `${place}-before`
    await Promise.all([copy(prepared, store), copy(prepared, await open(from))])
    const [output, errors] = await start(job).output
    if (output === '') throw new Error(errors)
    const calls: readonly string[] = JSON.parse(output)
    const futures = crash.next.map(async (next) => {
      const future = await copied(store)
      await syncAt(future, next, T0 + MINUTE)
      return { next, lists: await lists(future, T0 + MINUTE) }
    })
    return {
      prepared,
      from,
      job,
      calls,
      names,
      sources: sources.map((source) => source.name),
      allowed: [await lists(prepared, T0), await lists(store, T0)],
      futures: await Promise.all(futures),
    }
  }
  type Rehearsed = Awaited<ReturnType<typeof rehearse>>

  const duplicate = async ({ prepared, from }: Rehearsed, place: string): Promise<void> => {
    if (clone === undefined) await copy(prepared, await open(place))
    else clone(below(url, from), below(url, place))
  }

  /** What is wrong after the next sync. */
  const goOn = async (
    store: BlobStore,
    { names }: Rehearsed,
    { next, lists }: Rehearsed['futures'][number],
  ): Promise<readonly string[]> => {
    const problems: string[] = []
    const { isComplete, registries } = await syncAt(store, next, T0 + MINUTE)
    if (!isComplete) problems.push(`the next sync failed: ${JSON.stringify(registries[0]?.report.sources)}`)
    for (const [index, registry] of names.entries()) {
      const served = await serve(store, registry, T0 + MINUTE)
      if (contentOf(served) !== contentOf(lists[index]))
        problems.push(`after the next sync ${registry} is ${served.status} ${served.body.slice(0, 300)}`)
    }
    return problems
  }

  /** What is wrong when the same is synced for a day: it should change nothing but what is kept. */
  const waitADay = async (
    store: BlobStore,
    { names, sources }: Rehearsed,
    { next }: Rehearsed['futures'][number],
  ): Promise<readonly string[]> => {
    const problems: string[] = []
    for (const now of [T0 + MINUTE + HOUR, T0 + MINUTE + 24 * HOUR]) {
      for (const { report } of (await syncAt(store, next, now)).registries)
        if (report.action !== 'keep' || report.retention !== undefined)
          problems.push(`a later sync did ${report.action}; ${report.retention ?? 'tidied up'}`)
    }
    const [stored, named] = [await store.list(''), await namedKeys(store, names, sources)]
    problems.push(...stored.filter((key) => !named.includes(key)).map((key) => `${key} is an orphan`))
    problems.push(...named.filter((key) => !stored.includes(key)).map((key) => `${key} is missing`))
    for (const registry of names) {
      const { sequence, history } = await readHistory(store, registry)
      const sequences = history.map((item) => item.sequence)
      const whole = sequences.map((_, index) => sequence - sequences.length + 1 + index)
      if (String(sequences) !== String(whole)) problems.push(`the sequences of ${registry} are ${sequences}`)
    }
    return problems
  }

  /** Everything that must hold after a kill. `isThorough`: the day passes in the store itself, else in a copy. */
  const examine = async (rehearsed: Rehearsed, place: string, isThorough: boolean): Promise<readonly string[]> => {
    const problems: string[] = []
    try {
      const store = await open(place)
      for (const [index, registry] of rehearsed.names.entries()) {
        const { status, body } = await serve(store, registry, T0)
        const isAllowed = rehearsed.allowed.some(
          (lists) => lists[index]?.status === status && lists[index].body === body,
        )
        if (!isAllowed) problems.push(`${registry} is neither the old nor the new one: ${status} ${body.slice(0, 300)}`)
      }
      const [first, ...others] = rehearsed.futures
      if (first === undefined) throw new Error('there is no future')
      for (const future of others) {
        const elsewhere = await copied(store)
        problems.push(...(await goOn(elsewhere, rehearsed, future)), ...(await waitADay(elsewhere, rehearsed, future)))
      }
      problems.push(...(await goOn(store, rehearsed, first)))
      problems.push(...(leftovers?.(below(url, place)) ?? []).map((file) => `${file} was left`))
      problems.push(...(await waitADay(isThorough ? store : await copied(store), rehearsed, first)))
    } catch (thrown) {
      problems.push(`${thrown instanceof Error ? thrown.stack : thrown}`)
    }
    return problems
  }

  describe(`${name}, where a sync is killed`, { timeout: 900_000 }, () => {
    test.for(cases)('before or after any call of $title, nothing is lost and nothing stays', async (crash) => {
      const place = `c${CRASHES.indexOf(crash)}`
      const rehearsed = await rehearse(crash, place)
      const { calls, job } = rehearsed
      const points = calls.flatMap((name, call): readonly KillPoint[] =>
        (['before', 'after'] as const).filter((when) => isPoint(name, when)).map((when) => ({ when, call })),
      )
      const problems = await inParallel(points, async (kill) => {
        const own = `${place}-${kill.when}-${kill.call}`
        const where = `${kill.when} ${calls[kill.call]}`
        await duplicate(rehearsed, own)
        const { exit, output } = start({ ...job, url: below(url, own), kill })
        const [, signal] = await exit
        if (signal !== 'SIGKILL') return [`${where}: it was not killed: ${await output}`]
        return (await examine(rehearsed, own, kill.call % 8 === 0)).map((problem) => `${where}: ${problem}`)
      })
      const kinds = [...Map.groupBy(points, ({ when, call }) => `${when} ${calls[call]?.split(' ')[0]}`)]
      console.log(
        `${name}: ${crash.title}: ${points.length} points (${kinds.map(([kind, { length }]) => `${length} ${kind}`).join(', ')})`,
      )
      expect(problems).toEqual([])
    })

    test('at any moment, also inside a call, nothing is lost and nothing stays', async () => {
      const [, crash] = CRASHES
      if (crash === undefined) throw new Error('there is no such case')
      const rehearsed = await rehearse(crash, 'm')
      let killed = 0
      const times = Array.from({ length: moments }, (_, index) => (index * 120) / moments)
      const problems = await inParallel(times, async (moment) => {
        const own = `m-${moment}`
        await duplicate(rehearsed, own)
        const { child, exit } = start({ ...rehearsed.job, url: below(url, own) })
        await once(child.stderr, 'data')
        await sleep(moment)
        child.kill('SIGKILL')
        if ((await exit)[1] === 'SIGKILL') killed++
        return (await examine(rehearsed, own, moment % 16 === 0)).map((problem) => `after ${moment} ms: ${problem}`)
      })
      expect(killed).toBeGreaterThan(0)
      console.log(`${name}: ${killed} of ${moments} syncs were killed on their way`)
      expect(problems).toEqual([])
    })
  })
}
