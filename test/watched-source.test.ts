import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseManifests } from '../adapters/cluster/manifests.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { SnapshotReading } from '../core/model/snapshot.ts'
import type { Cluster } from '../core/ports.ts'
import { readSource } from '../functions/compile.ts'
import { parseConfig } from '../functions/config/config.ts'
import { createWatchedSource } from '../functions/watched-source.ts'
import { T0 } from './candidate.ts'

// Which of several readings counts, where they differ. The readings are scripted: a real cluster rarely moves in between.

const parsed = parseConfig('')
if (parsed.kind === 'bad') throw new Error('the default configuration is valid')
const { config } = parsed
const [source] = config.sources
if (source === undefined) throw new Error('there is a source by default')

const yaml = readFileSync(new URL('scenarios/route-grace/before.yaml', import.meta.url), 'utf8')
const readingOf = (text: string): SnapshotReading =>
  readSource(source, { root: '.', documents: parseManifests('x.yaml', text) }, 'cluster')
const healthy = readingOf(yaml)
/** The route leads to a Gateway of this name, which is not there. */
const lost = (name: string): SnapshotReading =>
  readingOf(
    yaml
      .replaceAll('{name: gw, namespace: infra}\n', `{name: ${name}, namespace: infra}\n`)
      .replace(`metadata: {name: ${name},`, 'metadata: {name: gw,'),
  )
const notAccepted = readingOf(
  yaml.replace(/(conditions:\n\s+- \{type: Accepted, status: )'True'(.*\n.*ResolvedRefs)/, "$1'False'$2"),
)

type Answer = SnapshotReading | OperationError

/** A source whose copies and lists are these, one after the other. */
const watched = (answers: { readonly copies: readonly SnapshotReading[]; readonly lists: readonly Answer[] }) => {
  const copies = [...answers.copies]
  const lists = [...answers.lists]
  const waits: number[] = []
  let time = T0
  const never = (): never => {
    throw new Error('nobody asks for this')
  }
  const cluster: Cluster = {
    server: 'https://cluster',
    context: 'test',
    read: async () => {
      const next = lists.shift()
      if (next === undefined) throw new Error('there is no further list')
      if (next instanceof OperationError) throw next
      return next
    },
    watch: () => ({ reading: async () => copies.shift() }),
    lead: never,
    tell: never,
    check: never,
  }
  const wait = (milliseconds: number): Promise<void> => {
    waits.push(milliseconds)
    return new Promise(() => {})
  }
  const world = { now: () => time, wait, stopped: new AbortController().signal }
  const { read, dueAt } = createWatchedSource(
    source,
    cluster,
    config,
    world,
    () => {},
    () => {},
  )
  return {
    read,
    rest: () => {
      time = dueAt()
    },
    waits,
    left: () => [copies.length, lists.length],
  }
}

describe('a route that has lost its URL', () => {
  test('the readings differ as the tests below need it', () => {
    const routes = [healthy, lost('one'), notAccepted].map(({ snapshot }) => snapshot.routes[0])
    expect(routes.map((route) => route?.parentRefs[0]?.name)).toEqual(['gw', 'one', 'gw'])
    expect(routes.map((route) => route?.status?.[0]?.conditions[0]?.status)).toEqual(['True', 'True', 'False'])
    expect(lost('one').snapshot.gateways.map(({ meta }) => meta.name)).toEqual(['gw'])
  })

  test('in a copy keeps it where a list has it', async () => {
    const { read, left } = watched({ copies: [lost('one')], lists: [healthy, healthy] })
    await read()
    expect(await read()).toBe(healthy)
    expect(left()).toEqual([0, 0])
  })

  test('loses it where a list finds the same object missing', async () => {
    const missing = lost('one')
    const { read, left } = watched({ copies: [lost('one'), lost('one')], lists: [healthy, missing] })
    await read()
    expect(await read()).toBe(missing)
    // And nothing is listed again for what is known.
    await read()
    expect(left()).toEqual([0, 0])
  })

  test('is looked at once more where each reading finds another object missing', async () => {
    const { read } = watched({ copies: [lost('one')], lists: [healthy, lost('two'), healthy] })
    await read()
    expect(await read()).toBe(healthy)
  })

  test('in a list that was due is listed once more as well', async () => {
    const { read, rest, left } = watched({ copies: [], lists: [healthy, lost('one'), healthy] })
    await read()
    rest()
    expect(await read()).toBe(healthy)
    expect(left()).toEqual([0, 0])
  })

  test('for a reason of its own loses it with one list', async () => {
    const { read, left } = watched({ copies: [notAccepted], lists: [healthy, notAccepted] })
    await read()
    expect(await read()).toBe(notAccepted)
    expect(left()).toEqual([0, 0])
  })

  test('fails the source where no two readings agree, and what is published stays', async () => {
    const { read } = watched({ copies: [lost('one')], lists: [healthy, lost('two'), lost('three'), lost('four')] })
    await read()
    await expect(read()).rejects.toMatchObject({ code: 'ClusterUnsettled' })
  })
})

describe('a source that fails', () => {
  const away = new OperationError('ClusterUnreachable', 'nobody listens there')

  test('is left alone for a while, longer each time, and then asked again', async () => {
    const { read, rest, left } = watched({ copies: [], lists: [away, away, healthy] })
    for (const lists of [2, 1]) {
      await expect(read()).rejects.toBe(away)
      await expect(read()).rejects.toBe(away)
      expect(left()).toEqual([0, lists])
      rest()
    }
    expect(await read()).toBe(healthy)
  })

  test('however often, is given a time that a timer can wait', async () => {
    const { read, rest, waits } = watched({ copies: [], lists: [...Array.from({ length: 40 }, () => away), healthy] })
    for (let failures = 0; failures < 40; failures++) {
      await expect(read()).rejects.toBe(away)
      rest()
    }
    expect(await read()).toBe(healthy)
    expect(Math.min(...waits)).toBeGreaterThan(1_000)
    expect(Math.max(...waits)).toBeLessThan(2 ** 31)
  })
})
