import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type MemoryObjects, openMemoryStore } from '../adapters/store/memory.ts'
import type { StoredObject } from '../core/ports.ts'
import { createApi } from '../functions/api/api.ts'
import { readSource } from '../functions/compile.ts'
import { type Config, parseConfig } from '../functions/config/config.ts'
import { createReader } from '../functions/publication/reader.ts'
import { sync } from '../functions/sync.ts'
import { clockAt } from './clock.ts'
import { type Fault, faulty, seeded } from './faulty.ts'

// A reader over a store that fails it in every way that a store can.

const T0 = Date.parse('2026-01-10T12:00:00Z')
const MINUTE = 60_000
const MAX_AGE = 30_000
const ENTRIES = 900

const configOf = (yaml: string): Config => {
  const parsed = parseConfig(yaml)
  if (parsed.kind === 'bad') throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}
const config = configOf('publish: { keep: 1 }')

/** In each round two servers, of different chunks, are described in other words. */
const clusterOf = (round: number) => {
  const items = Array.from({ length: ENTRIES }, (_, index) => {
    const name = `s${String(index).padStart(4, '0')}`
    const words = [403, 803].includes(index) ? `Server ${name}, edition ${round}` : `Server ${name}`
    return {
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      kind: 'MCPServer',
      metadata: {
        name,
        namespace: 'team',
        annotations: {
          'toolhive.stacklok.dev/registry-export': 'true',
          'toolhive.stacklok.dev/registry-url': `https://mcp.example.com/${name}/${'a-long-path/'.repeat(40)}`,
          'toolhive.stacklok.dev/registry-description': words,
        },
      },
      spec: { transport: 'streamable-http' },
    }
  })
  const value = { apiVersion: 'v1', kind: 'List', items }
  return { root: 'cluster', documents: [{ kind: 'read', file: 'cluster', document: 1, value }] } as const
}

const nameOf = (index: number): string =>
  encodeURIComponent(`dev.stacklok.toolhive/team.s${String(index).padStart(4, '0')}`)
/** The whole registry in one answer. */
const LIST = '/registry/default/registry.json'
const VERSIONS = `/registry/default/v0.1/servers/${nameOf(403)}/versions`
const VERSION = `/v0.1/servers/${nameOf(803)}/versions/latest`
const UNCHANGED = `/v0.1/servers/${nameOf(100)}/versions/latest`
const PATHS = [LIST, VERSIONS, VERSION, UNCHANGED]

type Whole = { readonly body: Buffer; readonly etag: string | null }
type Edition = { readonly at: number; readonly objects: MemoryObjects; readonly answers: ReadonlyMap<string, Whole> }

/** The store as it was after each of three publications, and what each of them serves. */
const editions: Edition[] = []
const editionAt = (index: number): Edition => {
  const edition = editions[index]
  if (edition === undefined) throw new Error(`there is no edition ${index}`)
  return edition
}

const syncInto = (objects: MemoryObjects, round: number, now: number) =>
  sync(config, {
    store: openMemoryStore(objects),
    now: () => now,
    readSource: async (source) => readSource(source, clusterOf(round), 'manifests'),
  })

beforeAll(async () => {
  const objects: MemoryObjects = new Map()
  for (const round of [0, 1, 2]) {
    const at = T0 + round * MINUTE
    await syncInto(objects, round, at)
    const app = createApi(
      createReader(
        openMemoryStore(objects),
        clockAt(() => at),
      ),
    )
    const answers = new Map<string, Whole>()
    for (const path of PATHS) {
      const answer = await app.request(path)
      if (answer.status !== 200) throw new Error(`${path} is ${answer.status}`)
      answers.set(path, { body: Buffer.from(await answer.arrayBuffer()), etag: answer.headers.get('etag') })
    }
    editions.push({ at, objects: new Map(objects), answers })
  }
})

type Said = { readonly status: string; readonly detail?: string; readonly registries: readonly { status: string }[] }
type Judged = { readonly status: number; readonly editions: readonly number[]; readonly age: string | null }

/** A reader, the store that it reads, and its clock. Every answer is judged as it comes. */
const openReading = (edition: number) => {
  let objects: ReadonlyMap<string, StoredObject> = editionAt(edition).objects
  let clock = editionAt(edition).at
  let faultOf: (key: string) => Fault | undefined = () => undefined
  const reads: string[] = []
  const memory = openMemoryStore()
  const store = faulty(
    {
      ...memory,
      read: async (key, known) => {
        reads.push(key)
        const object = objects.get(key)
        if (object === undefined) return { kind: 'absent' }
        return object.etag === known ? { kind: 'unchanged' } : object
      },
    },
    (key) => faultOf(key),
  )
  const app = createApi(
    createReader(
      store,
      clockAt(() => clock),
    ),
  )

  /** Either a whole answer of some edition, or a 503 that says so properly. */
  const ask = async (path: string): Promise<Judged> => {
    const answer = await app.request(path)
    const body = Buffer.from(await answer.arrayBuffer())
    const age = answer.headers.get('age')
    if (answer.status === 503) {
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      expect(JSON.parse(body.toString())).toEqual({
        title: 'Service Unavailable',
        status: 503,
        detail: expect.any(String),
        error: expect.any(String),
        code: 'StoreUnavailable',
      })
      return { status: 503, editions: [], age }
    }
    const found = editions.flatMap(({ answers }, index) => (answers.get(path)?.body.equals(body) ? [index] : []))
    const described = `${path} is ${answer.status} ${body.subarray(0, 200)}`
    expect([answer.status, found.length > 0], described).toEqual([200, true])
    expect(found.map((index) => editionAt(index).answers.get(path)?.etag)).toContain(answer.headers.get('etag'))
    return { status: 200, editions: found, age }
  }

  const ready = async (): Promise<{ readonly code: number; readonly said: Said }> => {
    const answer = await app.request('/readyz')
    return { code: answer.status, said: JSON.parse(await answer.text()) }
  }

  return {
    ask,
    ready,
    raw: (path: string): Response | Promise<Response> => app.request(path),
    reads,
    store: (index: number): void => {
      objects = editionAt(index).objects
    },
    replace: (others: ReadonlyMap<string, StoredObject>): void => {
      objects = others
    },
    wait: (milliseconds: number): void => {
      clock += milliseconds
    },
    fail: (how: (key: string) => Fault | undefined): void => {
      faultOf = how
    },
  }
}
type Reading = ReturnType<typeof openReading>

/** After all faults it takes no longer than an age and a retry until the newest is served, and said to be fresh. */
const expectRecovery = async (reading: Reading, edition: number): Promise<void> => {
  // What is under way fails while the store does; a fake clock would take its end for a later time.
  await sleep(20)
  reading.fail(() => undefined)
  reading.wait(MAX_AGE)
  // A reader does not wait for a store that failed the last time: it looks while it answers from what it has.
  const look = async (): Promise<readonly (readonly [string, boolean, string | null])[]> => {
    reading.wait(200)
    const seen = []
    for (const path of PATHS) {
      const { editions, age } = await reading.ask(path)
      seen.push([path, editions.includes(edition), age] as const)
    }
    return seen
  }
  await expect.poll(look, { timeout: 5000, interval: 10 }).toEqual(PATHS.map((path) => [path, true, null]))
  await expect
    .poll(reading.ready, { timeout: 5000, interval: 10 })
    .toMatchObject({ code: 200, said: { status: 'fresh' } })
}

const KINDS = {
  index: /^index\.json$/,
  pointer: /\/current\.json$/,
  manifest: /\/manifest\.json$/,
  columns: /\/columns$/,
  chunks: /\/chunks\//,
  report: /\/report\.json$/,
  everything: /^/,
}
type Kind = keyof typeof KINDS

const FAULTS: readonly Fault['kind'][] = ['slow', 'away', 'flaky', 'truncated', 'page', 'lost', 'flipped', 'old']
const DAMAGES: readonly Fault['kind'][] = ['truncated', 'page', 'lost', 'flipped']
const MODES = ['cold', 'warm', 'behind'] as const

const faultOf = (kind: Fault['kind'], seed: number): Fault => {
  if (kind === 'old') return { kind, objects: editionAt(0).objects }
  return kind === 'flaky' || kind === 'flipped' ? { kind, seed } : { kind }
}

/** `behind`: the reader has read an edition, and a newer one is there that it has not seen. */
const openAs = async (mode: (typeof MODES)[number]): Promise<Reading> => {
  const reading = openReading(mode === 'cold' ? 2 : 1)
  if (mode === 'cold') return reading
  if (mode === 'warm') reading.store(2)
  for (const path of PATHS) await reading.ask(path)
  await reading.ready()
  reading.store(2)
  reading.wait(MAX_AGE + 1)
  return reading
}

const isOfNewest = (key: string): boolean => !editionAt(1).objects.has(key)

const CASES = MODES.flatMap((mode) =>
  FAULTS.flatMap((fault) => Object.keys(KINDS).map((kind) => ({ mode, fault, kind: kind as Kind }))),
)

describe('a history of publications', () => {
  test('has several chunks, of which some are shared', () => {
    const chunks = (index: number) => [...editionAt(index).objects.keys()].filter((key) => KINDS.chunks.test(key))
    expect(chunks(0).length).toBeGreaterThanOrEqual(3)
    expect(chunks(1).length).toBeLessThan(2 * chunks(0).length)
    expect(new Set(editions.map(({ answers }) => answers.get(LIST)?.etag)).size).toBe(3)
  })
})

describe('a broken answer is never served', () => {
  test.for(CASES)('a $mode reader, $kind: $fault', async ({ mode, fault, kind }) => {
    for (const seed of fault === 'flipped' || fault === 'flaky' ? [1, 2, 3, 4] : [1]) {
      const reading = await openAs(mode)
      const broken = faultOf(fault, seed)
      reading.fail((key) => (KINDS[kind].test(key) ? broken : undefined))
      let newest = mode === 'warm' ? 2 : mode === 'behind' ? 1 : 0
      let served = 0
      for (let round = 0; round < 4; round++) {
        for (const path of PATHS) {
          const { status, editions } = await reading.ask(path)
          if (status === 200) served++
          const latest = Math.max(...editions)
          // Only where the newest is damaged may an earlier one come back.
          if (status === 200 && !DAMAGES.includes(fault)) expect(latest).toBeGreaterThanOrEqual(newest)
          if (status === 200 && editions.length === 1) newest = Math.max(newest, latest)
        }
        reading.wait(6000)
      }
      const { code, said } = await reading.ready()
      expect(['fresh', 'stale', 'store-away', 'corrupt', 'nothing']).toContain(said.status)
      if (mode !== 'cold') expect([code, served > 0]).toEqual([200, true])
      if (code === 503) expect([said.status, served]).toEqual([expect.not.stringContaining('fresh'), 0])
      await expectRecovery(reading, 2)
    }
  })
})

describe('/readyz says what it sees', () => {
  const seen = async (mode: (typeof MODES)[number], fault: Fault['kind'], kind: Kind, only = (_: string) => true) => {
    const reading = await openAs(mode)
    const broken = faultOf(fault, 1)
    reading.fail((key) => (KINDS[kind].test(key) && only(key) ? broken : undefined))
    for (const path of PATHS) await reading.ask(path)
    reading.wait(6000)
    await reading.ready()
    return reading.ready()
  }

  test.each([
    ['warm', 'away', 'everything', 'store-away'],
    ['behind', 'away', 'everything', 'store-away'],
    ['behind', 'away', 'manifest', 'store-away'],
    ['warm', 'old', 'pointer', 'stale'],
    ['warm', 'slow', 'everything', 'fresh'],
    ['behind', 'slow', 'everything', 'fresh'],
    ['cold', 'slow', 'everything', 'fresh'],
    ...(['truncated', 'page', 'lost'] as const).flatMap((fault) => [
      ['warm', fault, 'pointer', 'corrupt'] as const,
      ['warm', fault, 'index', 'corrupt'] as const,
      ['behind', fault, 'manifest', 'corrupt'] as const,
      ['behind', fault, 'columns', 'corrupt'] as const,
      ['behind', fault, 'chunks', 'corrupt'] as const,
      ['cold', fault, 'manifest', 'corrupt'] as const,
      ['cold', fault, 'columns', 'corrupt'] as const,
      ['cold', fault, 'chunks', 'corrupt'] as const,
    ]),
    ['behind', 'flipped', 'manifest', 'corrupt'],
    ['behind', 'flipped', 'columns', 'corrupt'],
    ['behind', 'flipped', 'chunks', 'corrupt'],
    ['warm', 'truncated', 'report', 'corrupt'],
    ['cold', 'page', 'report', 'corrupt'],
  ] as const)('a %s reader, %s %s: %s', async (mode, fault, kind, status) => {
    const only = fault !== 'away' && ['manifest', 'columns', 'chunks'].includes(kind) ? isOfNewest : undefined
    expect(await seen(mode, fault, kind, only)).toMatchObject({ code: 200, said: { status } })
  })

  test.each(['away', 'lost', 'page'] as const)('a cold reader without anything (%s): 503', async (fault) => {
    expect((await seen('cold', fault, 'everything')).code).toBe(503)
  })
})

describe('a damaged newest publication', () => {
  const parts = ['manifest', 'columns', 'chunks'] as const
  test.for(
    parts.flatMap((kind) =>
      MODES.slice(0, 1)
        .concat('behind')
        .map((mode) => ({ kind, mode })),
    ),
  )('is replaced by the one before it ($kind, $mode reader)', async ({ kind, mode }) => {
    const reading = await openAs(mode)
    reading.fail((key) => (KINDS[kind].test(key) && isOfNewest(key) ? { kind: 'truncated' } : undefined))
    const list = await reading.ask(LIST)
    expect(list).toMatchObject({ status: 200, editions: [1] })
    await expectRecovery(reading, 2)
  })

  test('is not taken for fresh when the store was away in between', async () => {
    const reading = await openAs('behind')
    const isDamaged = (key: string): boolean => KINDS.chunks.test(key) && isOfNewest(key)
    reading.fail((key) => (isDamaged(key) ? { kind: 'lost' } : undefined))
    expect(await reading.ask(LIST)).toMatchObject({ editions: [1] })
    reading.fail(() => ({ kind: 'away' }))
    reading.wait(MAX_AGE + 1)
    await reading.ask(LIST)
    await reading.ready()
    reading.fail((key) => (isDamaged(key) ? { kind: 'lost' } : undefined))
    reading.wait(MAX_AGE + 1)
    await reading.ask(LIST)
    reading.wait(5001)
    await reading.ask(LIST)
    await expect.poll(reading.ready).not.toMatchObject({ said: { status: 'store-away' } })
    expect(await reading.ready()).toMatchObject({ code: 200, said: { status: 'corrupt' } })
    await expectRecovery(reading, 2)
  })
})

describe('a store that is away', () => {
  test('leaves what was read, with its age', async () => {
    const reading = await openAs('warm')
    await reading.ask(LIST)
    reading.fail(() => ({ kind: 'away' }))
    reading.wait(MAX_AGE + 1)
    await reading.ask(LIST)
    reading.wait(10 * MINUTE)
    for (const path of PATHS) {
      const { status, age } = await reading.ask(path)
      expect([status, age]).toEqual([200, String(Math.round((MAX_AGE + 1 + 10 * MINUTE) / 1000))])
    }
  })

  test('does not bring an older publication back for what was never read', async () => {
    const reading = await openAs('behind')
    expect(await reading.ask(VERSION)).toMatchObject({ editions: [2] })
    reading.fail(() => ({ kind: 'away' }))
    expect(await reading.ask(LIST)).toMatchObject({ status: 503 })
    expect(await reading.ask(VERSION)).toMatchObject({ status: 200, editions: [2] })
    await expectRecovery(reading, 2)
  })

  test('is not asked by every probe', async () => {
    const reading = await openAs('warm')
    reading.fail(() => ({ kind: 'away' }))
    await reading.ready()
    const before = reading.reads.length
    let asked = 0
    reading.fail(() => {
      asked++
      return { kind: 'away' }
    })
    for (let probe = 0; probe < 10; probe++) await reading.ready()
    expect([asked, reading.reads.length - before]).toEqual([0, 0])
  })
})

test('a clock that is set back an hour does not keep a reader from looking', async () => {
  const reading = await openAs('behind')
  reading.wait(-60 * MINUTE)
  expect(await reading.ask(LIST)).toMatchObject({ status: 200, editions: [2] })
})

describe('a publication that is swept away under a reader', () => {
  test.each([
    ['that has nothing else', 'cold'],
    ['that has an older one', 'behind'],
  ] as const)('%s: the pointer is read again, once', async (_, mode) => {
    const reading = openReading(mode === 'cold' ? 1 : 0)
    if (mode === 'behind') {
      for (const path of PATHS) await reading.ask(path)
      reading.store(1)
      reading.wait(MAX_AGE + 1)
    }
    await reading.ready()
    // Two days pass elsewhere, in which all but the newest publication goes. This reader does not look meanwhile.
    const objects: MemoryObjects = new Map(editionAt(2).objects)
    for (const hours of [25, 27]) await syncInto(objects, 3, T0 + hours * 60 * MINUTE)
    for (const hours of [52, 54]) await syncInto(objects, 2, T0 + hours * 60 * MINUTE)
    const swept = editionAt(1).objects
    const gone = [...swept.keys()].filter((key) => KINDS.chunks.test(key) && !objects.has(key))
    expect(gone.length).toBeGreaterThan(0)
    const at = T0 + 54 * 60 * MINUTE
    const expected = await createApi(
      createReader(
        openMemoryStore(objects),
        clockAt(() => at),
      ),
    ).request(LIST)
    const etag = expected.headers.get('etag')
    reading.replace(objects)
    reading.reads.length = 0
    const answer = await reading.raw(LIST)
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, etag])
    expect(reading.reads.filter((key) => KINDS.pointer.test(key))).toHaveLength(1)
  })
})

describe('any mix of faults', () => {
  const mix = async (seed: number, faults: readonly Fault['kind'][]): Promise<void> => {
    const random = seeded(seed)
    const pick = <T>(items: readonly T[]): T => {
      const item = items[Math.floor(random() * items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    }
    const isDamaging = faults.some((fault) => DAMAGES.includes(fault))
    const reading = openReading(0)
    let [edition, newest] = [0, 0]
    const kinds = Object.keys(KINDS) as readonly Kind[]
    for (let step = 0; step < 25; step++) {
      if (random() < 0.15 && edition < 2) reading.store(++edition)
      if (random() < 0.5) {
        const broken = Array.from({ length: Math.floor(random() * 3) }, () => {
          const fault = faultOf(pick(faults), Math.floor(random() * 1000))
          // What an old store has not got yet would be lost, which is damage.
          return { kind: fault.kind === 'old' && !isDamaging ? ('pointer' as const) : pick(kinds), fault }
        })
        reading.fail((key) => broken.find(({ kind }) => KINDS[kind].test(key))?.fault)
      }
      reading.wait(Math.floor(random() * 40_000))
      if (random() < 0.2) await reading.ready()
      const { status, editions } = await reading.ask(pick(PATHS))
      if (status !== 200) continue
      const latest = Math.max(...editions)
      expect(latest).toBeLessThanOrEqual(2)
      if (!isDamaging) expect(latest).toBeGreaterThanOrEqual(newest)
      if (editions.length === 1) newest = Math.max(newest, latest)
    }
    await expectRecovery(reading, edition)
  }

  const seeds = Array.from({ length: 40 }, (_, index) => Number(process.env.FUZZ_SEED ?? 1) * 1000 + index)
  test('of absence and delay never goes back', async () => {
    for (const seed of seeds) await mix(seed, ['slow', 'away', 'flaky', 'old']).catch(tellSeed(seed))
  })
  test('of damage gives whole answers, and passes', async () => {
    for (const seed of seeds) await mix(seed, FAULTS).catch(tellSeed(seed))
  })
})

const tellSeed = (seed: number) => (thrown: unknown) => {
  throw new Error(`seed ${seed}`, { cause: thrown })
}
