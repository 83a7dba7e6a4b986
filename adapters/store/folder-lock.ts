import { createHash, randomBytes } from 'node:crypto'
import { link, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder, writeAside } from './folder-aside.ts'
import { isGone, type Owner, thisProcess } from './folder-owner.ts'

// A lock is a file that names its holder. It never goes by itself: a killed holder leaves it, and the next one breaks it.

/** Far longer than a holder needs, which only compares and renames. */
const HELD_TOO_LONG_MS = 10_000

type Holder = Owner & { readonly nonce: string }
export type Lock = { readonly isHeld: () => Promise<boolean>; readonly release: () => Promise<void> }

const errnoOf = (thrown: unknown): unknown => (thrown instanceof Error && 'code' in thrown ? thrown.code : undefined)

const unlessErrno = async <T>(errno: string, attempt: Promise<T>): Promise<T | undefined> => {
  try {
    return await attempt
  } catch (thrown) {
    if (errnoOf(thrown) === errno) return undefined
    throw thrown
  }
}

const parseHolder = (text: string): Holder => {
  try {
    const value: Partial<Holder> = JSON.parse(text)
    return { host: String(value.host), pid: Number(value.pid), nonce: String(value.nonce).replace(/[^a-f0-9]/g, '') }
  } catch {
    // A power cut can empty a lock. Nobody holds such a one, and age ends it.
    return { host: '', pid: 0, nonce: '' }
  }
}

const holderOf = async (path: string): Promise<Holder | undefined> => {
  const text = await unlessErrno('ENOENT', readFile(path, 'utf8'))
  return text === undefined ? undefined : parseHolder(text)
}

const isDead = async (path: string, holder: Holder): Promise<boolean> => {
  if (isGone(holder)) return true
  const found = await unlessErrno('ENOENT', stat(path))
  return found !== undefined && Date.now() - found.mtimeMs > HELD_TOO_LONG_MS
}

/** The time of a lock is when it was taken, not when its holder began to wait. */
const touch = async (file: string): Promise<void> => {
  const now = new Date()
  await utimes(file, now, now)
}

/**
 * Puts one's own lock over that of a dead holder. The right to do so is a lock itself, named after that holder: two that
 * both saw it dead would otherwise break, the one the dead lock, the other the new one.
 */
const breakLock = async (root: string, path: string, dead: Holder, own: string): Promise<boolean> => {
  const right = await acquire(root, `${path}.${dead.nonce}`)
  try {
    if ((await holderOf(path))?.nonce !== dead.nonce) return false
    await touch(own)
    await rename(own, path)
    return true
  } finally {
    await right.release()
  }
}

const acquire = async (root: string, path: string): Promise<Lock> => {
  const holder: Holder = { ...thisProcess(), nonce: randomBytes(8).toString('hex') }
  // Linked into place when whole, so that no one ever reads half a holder.
  const own = await writeAside(root, Buffer.from(JSON.stringify(holder)), false)
  const isHeld = async (): Promise<boolean> => (await holderOf(path))?.nonce === holder.nonce
  const lock: Lock = {
    isHeld,
    release: async () => {
      if (await isHeld()) await rm(path, { force: true })
    },
  }
  try {
    for (;;) {
      await touch(own)
      // true where it was linked, undefined where another lock is.
      if (
        await unlessErrno(
          'EEXIST',
          link(own, path).then(() => true),
        )
      )
        return lock
      const other = await holderOf(path)
      if (other === undefined) continue
      if ((await isDead(path, other)) && (await breakLock(root, path, other, own))) return lock
      await sleep(2 + Math.random() * 10)
    }
  } finally {
    await rm(own, { force: true })
  }
}

const locksIn = (root: string): string => join(root, '.locks')

/** Waits for the lock of a key: a busy one is no conflict. */
export const lockKey = async (root: string, key: string): Promise<Lock> => {
  await makeFolder(locksIn(root))
  return acquire(root, join(locksIn(root), createHash('sha256').update(key).digest('hex').slice(0, 40)))
}

/** Removes the locks of the dead: by taking them, as anyone would who needs them. */
export const sweepLocks = async (root: string): Promise<void> => {
  for (const name of (await unlessErrno('ENOENT', readdir(locksIn(root)))) ?? []) {
    const path = join(locksIn(root), name)
    const holder = await holderOf(path)
    if (holder !== undefined && (await isDead(path, holder))) await (await acquire(root, path)).release()
  }
}
