import { createHash } from 'node:crypto'
import { link, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Bytes } from '../../core/model/bytes.ts'
import type { BlobStore, Etag, StoredObject } from '../../core/ports.ts'
import { sweepAside, writeAside } from './folder-aside.ts'
import { folderFailure, rootIsNoFolder } from './folder-failure.ts'
import { lockKey, sweepLocks } from './folder-lock.ts'
import { isErrno, placeFile, removeFile } from './folder-place.ts'
import { keyBelow, OWN_FOLDERS, startOf } from './key.ts'
import { type Doing, fieldOf } from './store-failure.ts'

const etagOf = (bytes: Uint8Array): Etag => createHash('sha256').update(bytes).digest('hex')

/** Objects as files: a folder that can be looked at, copied and served. */
export const openFolderStore = (path: string): BlobStore => {
  const root = resolve(path)
  const store = `file:${root}`
  let swept: Promise<void> | undefined

  const attempt = async <T>(doing: Doing, act: () => Promise<T>): Promise<T> => {
    try {
      return await act()
    } catch (thrown) {
      throw folderFailure(doing, store, thrown)
    }
  }

  /** A missing root is an empty store, but one that is a file is a mistake. */
  const nothingThere = async (doing: Doing, thrown: unknown): Promise<void> => {
    if (!isErrno(thrown, 'ENOENT', 'ENOTDIR', 'EISDIR')) throw thrown
    if (!isErrno(thrown, 'ENOTDIR')) return
    const found = await stat(root).catch(() => undefined)
    if (!found?.isDirectory()) throw rootIsNoFolder(doing, store)
  }

  const current = async (doing: Doing, key: string): Promise<StoredObject | undefined> => {
    try {
      const read = await readFile(join(root, key))
      const bytes: Bytes = new Uint8Array(read.buffer, read.byteOffset, read.byteLength)
      return { kind: 'found', bytes, etag: etagOf(bytes) }
    } catch (thrown) {
      await nothingThere(doing, thrown)
      return undefined
    }
  }

  const isObject = async (key: string): Promise<boolean> => {
    try {
      return (await stat(join(root, key))).isFile()
    } catch (thrown) {
      await nothingThere('delete from', thrown)
      return false
    }
  }

  /** Once, at the first write. A courtesy: what cannot be removed must not keep anyone from writing. */
  const sweep = (): Promise<void> => {
    swept ??= Promise.all([sweepAside(root), sweepLocks(root)]).then(
      () => {},
      () => {},
    )
    return swept
  }

  const create = async (key: string, aside: string): Promise<boolean> => {
    const target = join(root, key)
    try {
      return await placeFile(root, target, async () => {
        await link(aside, target)
        return true
      })
    } catch (thrown) {
      // What is in the way of a folder, or a folder in that place, is no other object: it would be a conflict for ever.
      if (!isErrno(thrown, 'EEXIST') || fieldOf(thrown, 'syscall') !== 'link') throw thrown
      if ((await stat(target).catch(() => undefined))?.isDirectory()) throw thrown
      return false
    }
  }

  const replace = async (key: string, aside: string, expected: Etag | undefined): Promise<boolean> => {
    const target = join(root, key)
    for (;;) {
      const lock = await lockKey(root, key)
      try {
        if (expected !== undefined && (await current('write to', key))?.etag !== expected) return false
        const placed = await placeFile(root, target, async () => {
          if (!(await lock.isHeld())) return false
          await rename(aside, target)
          return true
        })
        // Whoever was stopped for long has lost its lock to another, and must look again.
        if (placed) return true
      } finally {
        await lock.release()
      }
    }
  }

  const filesBelow = async (folder: string): Promise<readonly string[]> => {
    try {
      const keys: string[] = []
      for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
        if (OWN_FOLDERS.includes(entry.name)) continue
        if (entry.isDirectory()) keys.push(...(await filesBelow(`${folder}${entry.name}/`)))
        else if (entry.isFile()) keys.push(`${folder}${entry.name}`)
      }
      return keys
    } catch (thrown) {
      await nothingThere('list', thrown)
      return []
    }
  }

  return {
    async read(key, known) {
      const name = keyBelow('', key)
      const object = await attempt('read', () => current('read', name))
      if (object === undefined) return { kind: 'absent' }
      return object.etag === known ? { kind: 'unchanged' } : object
    },
    async write(key, bytes, expected) {
      const name = keyBelow('', key)
      return attempt('write to', async () => {
        const aside = await writeAside(root, bytes, true)
        try {
          await sweep()
          const done =
            expected === 'absent'
              ? await create(name, aside)
              : await replace(name, aside, expected === 'any' ? undefined : expected.etag)
          return done ? { kind: 'written', etag: etagOf(bytes) } : { kind: 'conflict' }
        } finally {
          await rm(aside, { force: true })
        }
      })
    },
    async list(folder) {
      const start = startOf('', folder)
      return attempt('list', () => filesBelow(start))
    },
    async delete(key) {
      const name = keyBelow('', key)
      await attempt('delete from', async () => {
        if (!(await isObject(name))) return
        const lock = await lockKey(root, name).catch((thrown: unknown) => {
          // A full disk has no room for a lock, and deleting is how it gets room.
          if (!isErrno(thrown, 'ENOSPC', 'EDQUOT')) throw thrown
        })
        try {
          await removeFile(root, join(root, name))
        } finally {
          await lock?.release()
        }
      })
    },
  }
}
