import { once } from 'node:events'
import { openFolderStore } from '../adapters/store/folder.ts'
import { lockKey } from '../adapters/store/folder-lock.ts'
import type { BlobStore } from '../core/ports.ts'

// A process of its own that uses a folder store, for tests of what processes do to each other.
//   node test/folder-process.ts ROOT ACTION ARGUMENTS     answers go to standard output, a line each

const [root = '', action = '', ...args] = process.argv.slice(2)
const say = (text: string): unknown => process.stdout.write(`${text}\n`)
const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Adds one, as often as it takes to be the one who does. */
const addOne = async (store: BlobStore, key: string): Promise<void> => {
  for (;;) {
    const read = await store.read(key)
    const count = read.kind === 'found' ? Number(new TextDecoder().decode(read.bytes)) : 0
    const expected = read.kind === 'found' ? { etag: read.etag } : 'absent'
    if ((await store.write(key, bytesOf(String(count + 1)), expected)).kind === 'written') return
  }
}

const ACTIONS: Readonly<Record<string, (store: BlobStore) => Promise<void>>> = {
  /** race KEY TIMES: waits for a line, so that all begin at once; creates the one object, then counts in another. */
  race: async (store) => {
    const [key = '', times = ''] = args
    say('ready')
    await once(process.stdin, 'data')
    say((await store.write(`${key}/created`, bytesOf(String(process.pid)), 'absent')).kind)
    for (let done = 0; done < Number(times); done += 1) await addOne(store, `${key}/counter`)
  },
  /** count KEY TIMES */
  count: async (store) => {
    const [key = '', times = ''] = args
    for (let done = 1; done <= Number(times); done += 1) {
      await addOne(store, key)
      say(`${done}`)
    }
  },
  /** hold KEY: takes the lock and keeps it; says after a line whether it still has it. */
  hold: async () => {
    const lock = await lockKey(root, args[0] ?? '')
    say('held')
    await once(process.stdin, 'data')
    say((await lock.isHeld()) ? 'still held' : 'lost')
  },
  /** fill: writes until the disk is full, then deletes and writes again. */
  fill: async (store) => {
    const block = new Uint8Array(64 * 1024)
    let written = 0
    try {
      for (; written < 1_000; written += 1) await store.write(`block/${written}`, block, 'absent')
    } finally {
      const kept = await store.list('')
      for (const key of kept) {
        const read = await store.read(key)
        if (read.kind !== 'found' || read.bytes.byteLength !== block.byteLength) say(`${key} is not whole`)
        await store.delete(key)
      }
      say(`kept ${kept.length === written ? 'all' : kept.length}, left ${(await store.list('')).length}`)
      say((await store.write('again', block, 'absent')).kind)
    }
  },
  /** touch [nobody]: reads, writes and deletes, each to fail in its own way; where it may, as a user who owns nothing. */
  touch: async (store) => {
    if (args[0] === 'nobody' && process.getuid?.() === 0) {
      process.setgid?.(65_534)
      process.setuid?.(65_534)
    }
    for (const act of [() => store.read('a'), () => store.write('a', bytesOf('b'), 'any'), () => store.delete('a')]) {
      await act().then(
        (answer) => say(answer === undefined ? 'done' : answer.kind),
        (thrown: unknown) => say(thrown instanceof Error ? `${Reflect.get(thrown, 'code')}: ${thrown.message}` : ''),
      )
    }
  },
}

try {
  await ACTIONS[action]?.(openFolderStore(root))
} catch (thrown) {
  say(thrown instanceof Error ? `${Reflect.get(thrown, 'code')}: ${thrown.message}` : 'failed')
}
process.stdin.destroy()
