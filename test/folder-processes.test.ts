import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { openFolderStore } from '../adapters/store/folder.ts'
import type { BlobStore } from '../core/ports.ts'
import { ended, start } from './started-process.ts'

const base = mkdtempSync(join(tmpdir(), 'waypost-folder-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const freshRoot = (): string => mkdtempSync(join(base, 'root-'))
const bytesOf = (text: string) => new TextEncoder().encode(text)

const numberIn = async (store: BlobStore, key: string): Promise<number> => {
  const read = await store.read(key)
  return read.kind === 'found' ? Number(new TextDecoder().decode(read.bytes)) : 0
}

const ownFiles = (root: string): readonly string[] =>
  ['.tmp', '.locks'].flatMap((folder) => (existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : []))

describe('processes that share a folder', () => {
  test('of 20 that create the same object one wins, and of what 20 add nothing is lost', async () => {
    const root = freshRoot()
    const racers = Array.from({ length: 20 }, () => start(root, 'race', 'a/b', '3'))
    await Promise.all(racers.map(({ said }) => said('ready')))
    for (const { child } of racers) child.stdin?.write('go\n')
    const answers = await Promise.all(racers.map(ended))
    const winners = racers.filter((_, racer) => answers[racer]?.includes('written'))
    expect(winners).toHaveLength(1)
    expect(answers.filter((lines) => lines.includes('conflict'))).toHaveLength(19)
    const store = openFolderStore(root)
    expect(await numberIn(store, 'a/b/created')).toBe(winners[0]?.child.pid)
    expect(await numberIn(store, 'a/b/counter')).toBe(60)
    expect(ownFiles(root)).toEqual([])
  })

  test('what was added is there, and the others go on, when some are killed', async () => {
    const root = freshRoot()
    const lasting = Array.from({ length: 3 }, () => start(root, 'count', 'counter', '10'))
    const killed = Array.from({ length: 3 }, () => start(root, 'count', 'counter', '1000'))
    await Promise.all(
      killed.map(async (one, index) => {
        await one.said(`${index + 1}`)
        one.child.kill('SIGKILL')
      }),
    )
    const counts = await Promise.all([...lasting, ...killed].map(async (one) => (await ended(one)).length))
    const certain = counts.reduce((sum, count) => sum + count, 0)
    const store = openFolderStore(root)
    const counted = await numberIn(store, 'counter')
    expect(counted).toBeGreaterThanOrEqual(certain)
    // Each of the killed may have added one that it could no longer tell of.
    expect(counted).toBeLessThanOrEqual(certain + killed.length)
    await store.write('counter', bytesOf('0'), 'any')
    expect(ownFiles(root)).toEqual([])
  })

  test('a lock whose holder was killed is broken by the next write', async () => {
    const root = freshRoot()
    const holder = start(root, 'hold', 'pointer')
    await holder.said('held')
    expect(ownFiles(root)).toHaveLength(1)
    holder.child.kill('SIGKILL')
    await ended(holder)
    expect(ownFiles(root)).toHaveLength(1)
    expect(await openFolderStore(root).write('pointer', bytesOf('x'), 'any')).toMatchObject({ kind: 'written' })
    expect(ownFiles(root)).toEqual([])
  })

  test('a lock that is held is waited for, and broken when it is too old; its holder notices', async () => {
    const root = freshRoot()
    const holder = start(root, 'hold', 'pointer')
    await holder.said('held')
    let isWritten = false
    const writing = openFolderStore(root)
      .write('pointer', bytesOf('x'), 'any')
      .then(() => {
        isWritten = true
      })
    await sleep(200)
    expect(isWritten).toBe(false)
    const [lock = ''] = readdirSync(join(root, '.locks'))
    utimesSync(join(root, '.locks', lock), new Date(), new Date(Date.now() - 11_000))
    await writing
    holder.child.stdin?.write('well?\n')
    expect(await ended(holder)).toEqual(['held', 'lost'])
  })

  test('what others left aside is removed by age, or with its process, and a live one is let alone', async () => {
    const root = freshRoot()
    const store = openFolderStore(root)
    const alive = start(root, 'hold', 'other')
    await alive.said('held')
    const aside = join(root, '.tmp')
    writeFileSync(join(aside, 'elsewhere~1~aa'), 'fresh')
    writeFileSync(join(aside, 'elsewhere~1~bb'), 'old')
    utimesSync(join(aside, 'elsewhere~1~bb'), new Date(), new Date(Date.now() - 2 * 60 * 60 * 1000))
    await store.write('a', bytesOf('x'), 'absent')
    expect(readdirSync(aside)).toEqual(['elsewhere~1~aa'])
    expect(readdirSync(join(root, '.locks'))).toHaveLength(1)
    expect(await store.list('')).toEqual(['a'])
    alive.child.kill()
    await ended(alive)
  })
})
