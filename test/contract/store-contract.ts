import { describe, expect, test } from 'vitest'
import type { Bytes } from '../../core/model/bytes.ts'
import type { BlobStore } from '../../core/ports.ts'

// What every store must do. The same suite for each, on the real server wherever one can be had.

export type StoreUnderTest = {
  /** A store below a prefix of one and the same bucket. */
  readonly open: (prefix: string) => Promise<BlobStore>
  /** How many objects surely do not fit on one page of a listing. */
  readonly manyObjects: number
}

const bytesOf = (text: string): Bytes => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const found = async (store: BlobStore, key: string): Promise<{ text: string; etag: string }> => {
  const read = await store.read(key)
  if (read.kind !== 'found') throw new Error(`${key} is ${read.kind}`)
  return { text: textOf(read.bytes), etag: read.etag }
}

const written = async (store: BlobStore, key: string, text: string): Promise<string> => {
  const write = await store.write(key, bytesOf(text), 'any')
  if (write.kind !== 'written') throw new Error(`${key} is in ${write.kind}`)
  return write.etag
}

const sorted = (keys: readonly string[]): readonly string[] => [...keys].sort()

/** At most so many at once: a thousand open connections test nothing that matters here. */
const inTurns = async <T>(items: readonly T[], act: (item: T) => Promise<unknown>, atOnce = 16): Promise<void> => {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await act(item)
    }),
  )
}

let opened = 0

export const describeStore = (name: string, { open, manyObjects }: StoreUnderTest): void => {
  // Its own prefix for each test, and another for each run: a server may be kept between runs.
  const fresh = (): Promise<BlobStore> => {
    opened += 1
    return open(`contract-${process.pid}-${Date.now()}-${opened}`)
  }

  describe(`the contract of a store: ${name}`, () => {
    test('what is not there is absent, with and without a known etag', async () => {
      const store = await fresh()
      expect(await store.read('nothing.json')).toEqual({ kind: 'absent' })
      expect(await store.read('deep/down/nothing.json')).toEqual({ kind: 'absent' })
      const etag = await written(store, 'other.json', 'other')
      expect(await store.read('nothing.json', etag)).toEqual({ kind: 'absent' })
    })

    test('creates only what is not there', async () => {
      const store = await fresh()
      expect(await store.write('a/b.json', bytesOf('first'), 'absent')).toMatchObject({ kind: 'written' })
      expect(await store.write('a/b.json', bytesOf('second'), 'absent')).toEqual({ kind: 'conflict' })
      expect((await found(store, 'a/b.json')).text).toBe('first')
    })

    test('replaces only what was read', async () => {
      const store = await fresh()
      const first = await written(store, 'pointer.json', 'first')
      expect((await found(store, 'pointer.json')).etag).toBe(first)
      const second = await store.write('pointer.json', bytesOf('second'), { etag: first })
      expect(second).toMatchObject({ kind: 'written' })
      expect(await store.write('pointer.json', bytesOf('third'), { etag: first })).toEqual({ kind: 'conflict' })
      expect(await found(store, 'pointer.json')).toEqual({ text: 'second', etag: 'etag' in second ? second.etag : '' })
    })

    test('overwrites anything where any is expected', async () => {
      const store = await fresh()
      const first = await written(store, 'report.json', 'first')
      expect(await written(store, 'report.json', 'second')).not.toBe(first)
      expect((await found(store, 'report.json')).text).toBe('second')
    })

    test('to replace what vanished is a conflict, and does not bring it back', async () => {
      const store = await fresh()
      const etag = await written(store, 'pointer.json', 'first')
      await store.delete('pointer.json')
      expect(await store.write('pointer.json', bytesOf('second'), { etag })).toEqual({ kind: 'conflict' })
      expect(await store.read('pointer.json')).toEqual({ kind: 'absent' })
    })

    test('a known object is not sent again, a changed one is', async () => {
      const store = await fresh()
      const first = await written(store, 'pointer.json', 'first')
      expect(await store.read('pointer.json', first)).toEqual({ kind: 'unchanged' })
      const second = await written(store, 'pointer.json', 'second')
      const read = await store.read('pointer.json', first)
      expect(read).toMatchObject({ kind: 'found', etag: second })
      expect(await store.read('pointer.json', second)).toEqual({ kind: 'unchanged' })
    })

    test('of 20 that create the same object, one wins, ten times', async () => {
      const store = await fresh()
      for (let round = 0; round < 10; round += 1) {
        const key = `race/${round}.json`
        const writers = Array.from({ length: 20 }, (_, writer) => `writer ${writer}`)
        const answers = await Promise.all(writers.map((text) => store.write(key, bytesOf(text), 'absent')))
        const winners = writers.filter((_, index) => answers[index]?.kind === 'written')
        expect(winners).toHaveLength(1)
        expect((await found(store, key)).text).toBe(winners[0])
      }
    })

    test('of 20 that replace what they all read, one wins, ten times', async () => {
      const store = await fresh()
      let etag = await written(store, 'pointer.json', 'start')
      for (let round = 0; round < 10; round += 1) {
        const writers = Array.from({ length: 20 }, (_, writer) => `round ${round}, writer ${writer}`)
        const answers = await Promise.all(writers.map((text) => store.write('pointer.json', bytesOf(text), { etag })))
        const winners = writers.filter((_, index) => answers[index]?.kind === 'written')
        expect(winners).toHaveLength(1)
        const now = await found(store, 'pointer.json')
        expect(now.text).toBe(winners[0])
        expect(answers).toContainEqual({ kind: 'written', etag: now.etag })
        etag = now.etag
      }
    })

    test('lists to the last page', async () => {
      const store = await fresh()
      const keys = Array.from({ length: manyObjects }, (_, index) => `chunks/${String(index).padStart(5, '0')}`)
      await inTurns(keys, (key) => store.write(key, bytesOf(key), 'absent'))
      const listed = await store.list('chunks')
      expect(listed).toHaveLength(manyObjects)
      expect(sorted(listed)).toEqual(keys)
    })

    test('lists all that is below a folder, and nothing of one whose name begins alike', async () => {
      const store = await fresh()
      const keys = ['a/1', 'a/b/2', 'a/b/c/3', 'ab/4', 'a-b/5', 'a.json', 'z']
      await inTurns(keys, (key) => written(store, key, key))
      expect(sorted(await store.list('a'))).toEqual(['a/1', 'a/b/2', 'a/b/c/3'])
      expect(sorted(await store.list('a/'))).toEqual(['a/1', 'a/b/2', 'a/b/c/3'])
      expect(sorted(await store.list('a/b'))).toEqual(['a/b/2', 'a/b/c/3'])
      expect(sorted(await store.list(''))).toEqual(sorted(keys))
      expect(await store.list('nothing')).toEqual([])
      expect(await store.list('z')).toEqual([])
    })

    test('deletes, once or twice', async () => {
      const store = await fresh()
      await written(store, 'a/b.json', 'text')
      await written(store, 'a/c.json', 'stays')
      await store.delete('a/b.json')
      await store.delete('a/b.json')
      await store.delete('never/was')
      expect(await store.read('a/b.json')).toEqual({ kind: 'absent' })
      expect(await store.list('a')).toEqual(['a/c.json'])
      expect(await store.write('a/b.json', bytesOf('again'), 'absent')).toMatchObject({ kind: 'written' })
    })

    test.each([
      '..',
      '../x',
      'a/../../x',
      '.',
      './a',
      'a/./b',
      '',
      '/a',
      'a//b',
      'a/',
      'a\\b',
      'a b',
      'a%2Fb',
      'ä',
      'a\0b',
      'a\nb',
      '.tmp/a',
      'a/.locks/b',
    ])('the key %j is refused', async (key) => {
      const store = await fresh()
      const refused = { name: 'OperationError', code: 'StoreKeyInvalid' }
      await expect(store.read(key)).rejects.toMatchObject(refused)
      await expect(store.write(key, bytesOf('x'), 'any')).rejects.toMatchObject(refused)
      await expect(store.delete(key)).rejects.toMatchObject(refused)
      if (key !== '' && key !== 'a/') await expect(store.list(key)).rejects.toMatchObject(refused)
    })

    test('two prefixes of one bucket do not see each other', async () => {
      const prefix = `contract-${process.pid}-${Date.now()}`
      const [one, other, longer] = await Promise.all([open(`${prefix}/a`), open(`${prefix}/b`), open(`${prefix}/ab`)])
      await written(one, 'index.json', 'one')
      expect(await other.read('index.json')).toEqual({ kind: 'absent' })
      expect(await other.write('index.json', bytesOf('other'), 'absent')).toMatchObject({ kind: 'written' })
      await written(longer, 'longer.json', 'longer')
      expect(await one.list('')).toEqual(['index.json'])
      await other.delete('index.json')
      expect((await found(one, 'index.json')).text).toBe('one')
    })

    test('another store on the same prefix sees the same objects', async () => {
      const prefix = `contract-${process.pid}-${Date.now()}-shared`
      const [one, other] = await Promise.all([open(prefix), open(prefix)])
      const etag = await written(one, 'index.json', 'one')
      expect(await found(other, 'index.json')).toEqual({ text: 'one', etag })
      expect(await other.write('index.json', bytesOf('two'), { etag })).toMatchObject({ kind: 'written' })
      expect(await one.write('index.json', bytesOf('three'), { etag })).toEqual({ kind: 'conflict' })
    })

    test.each([
      ['no bytes', 0],
      ['every byte', 256],
      ['32 MiB', 32 * 1024 * 1024],
    ])('keeps an object of %s as it is', async (_, length) => {
      const store = await fresh()
      const bytes: Bytes = new Uint8Array(length)
      for (let index = 0; index < length; index += 1) bytes[index] = index * 31 + (index >> 8)
      const write = await store.write('object', bytes, 'absent')
      const read = await store.read('object')
      expect(read).toMatchObject({ kind: 'found', etag: 'etag' in write ? write.etag : '' })
      // Compared by hand: a difference of 32 MiB is nothing to print.
      expect('bytes' in read && Buffer.compare(read.bytes, bytes)).toBe(0)
    })
  })
}
