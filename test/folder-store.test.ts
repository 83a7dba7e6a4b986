import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openFolderStore } from '../adapters/store/folder.ts'
import { describeStore } from './contract/store-contract.ts'
import { ended, folderProcess, start } from './started-process.ts'

const base = mkdtempSync(join(tmpdir(), 'waypost-folder-'))
// So that a process of another user can get at what is below.
chmodSync(base, 0o755)
afterAll(() => rmSync(base, { recursive: true, force: true }))

const freshRoot = (): string => mkdtempSync(join(base, 'root-'))
const bytesOf = (text: string) => new TextEncoder().encode(text)

describeStore('folder', { open: async (prefix) => openFolderStore(join(base, prefix)), manyObjects: 300 })

describe('a folder that cannot be used', () => {
  test('a missing one is empty, and made by the first write', async () => {
    const root = join(freshRoot(), 'not', 'yet')
    const store = openFolderStore(root)
    expect(await store.read('a')).toEqual({ kind: 'absent' })
    expect(await store.list('')).toEqual([])
    await store.delete('a')
    expect(existsSync(root)).toBe(false)
    await store.write('a', bytesOf('x'), 'absent')
    expect(await store.list('')).toEqual(['a'])
  })

  test('a file is refused for everything', async () => {
    const root = join(freshRoot(), 'file')
    writeFileSync(root, 'x')
    const store = openFolderStore(root)
    const acts = [
      () => store.read('a'),
      () => store.list(''),
      () => store.delete('a'),
      () => store.write('a', bytesOf('x'), 'any'),
    ]
    for (const act of acts) {
      const thrown = await act().catch((error: unknown) => error)
      expect(thrown).toMatchObject({ name: 'OperationError', code: 'StoreNotFolder' })
      expect(thrown).toHaveProperty('message', expect.stringMatching(/^Cannot [^\n]*file:\/[^\n]*\.$/))
    }
  })

  test('an object is not in the way of a folder without a word, nor a folder of an object', async () => {
    const store = openFolderStore(freshRoot())
    await store.write('a/b', bytesOf('x'), 'absent')
    expect(await store.read('a')).toEqual({ kind: 'absent' })
    expect(await store.read('a/b/c')).toEqual({ kind: 'absent' })
    await expect(store.write('a', bytesOf('x'), 'absent')).rejects.toMatchObject({ code: 'StoreNotFolder' })
    await expect(store.write('a/b/c', bytesOf('x'), 'absent')).rejects.toMatchObject({ code: 'StoreNotFolder' })
  })

  test('one that this user may only read is read, and says that it cannot be written', async () => {
    const root = freshRoot()
    await openFolderStore(root).write('a', bytesOf('x'), 'absent')
    for (const folder of ['.tmp', '.locks', '.']) {
      mkdirSync(join(root, folder), { recursive: true })
      chmodSync(join(root, folder), 0o555)
    }
    const [read, write, remove] = await ended(start(root, 'touch', 'nobody'))
    expect(read).toBe('found')
    expect(write).toMatch(/^StoreReadOnly: Cannot write to file:\/.*: this user may not write there\. /)
    expect(remove).toMatch(/^StoreReadOnly: Cannot delete from /)
    chmodSync(root, 0o755)
  })

  test('one that this user may not read is a failure, not an empty store', async () => {
    const root = freshRoot()
    await openFolderStore(root).write('a', bytesOf('x'), 'absent')
    chmodSync(root, 0)
    const [read] = await ended(start(root, 'touch', 'nobody'))
    expect(read).toMatch(/^StoreDenied: Cannot read file:\/.*: this user may not read there\. /)
    chmodSync(root, 0o755)
  })
})

/** Runs in a mount namespace of its own, where a small disk can be had without touching the machine. */
const onOwnDisk = (root: string, options: string, ...args: readonly string[]): readonly string[] => {
  const shell = 'mount -t tmpfs -o "$1" waypost-test "$2" && shift 2 && exec "$@"'
  const problems: string[] = []
  for (const namespaces of ['-rm', '-m']) {
    const command = [process.execPath, folderProcess, root, ...args]
    const done = spawnSync('unshare', [namespaces, 'sh', '-c', shell, 'sh', options, root, ...command], {
      encoding: 'utf8',
    })
    if (done.status === 0) return done.stdout.trim().split('\n')
    problems.push(done.error?.message ?? done.stderr.trim())
  }
  throw new Error(
    `No disk could be mounted, so what a full or a read-only one does was not tested. Allow user namespaces, or run as root with CAP_SYS_ADMIN, on Linux (${problems.join('; ')})`,
  )
}

describe('a disk', () => {
  test('that is full fails the write, keeps all that was written, and takes deletes', () => {
    const lines = onOwnDisk(freshRoot(), 'size=1m,mode=755', 'fill')
    expect(lines.slice(0, 2)).toEqual(['kept all, left 0', 'written'])
    expect(lines[2]).toMatch(/^StoreFull: Cannot write to file:\/.*: the disk is full\. Make room/)
  })

  test('that is read-only is read, and says so on a write', () => {
    const [read, write] = onOwnDisk(freshRoot(), 'ro,size=1m,mode=755', 'touch')
    expect(read).toBe('absent')
    expect(write).toMatch(/^StoreReadOnly: Cannot write to file:\/.*: the file system is read-only\. /)
  })
})
