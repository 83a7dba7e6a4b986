import { mkdir, open, rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fieldOf } from './store-failure.ts'

export const isErrno = (thrown: unknown, ...errnos: readonly string[]): boolean =>
  errnos.includes(String(fieldOf(thrown, 'code')))

/** A name is on the disk when its folder is, and a new folder when the one above it is. */
const syncFolders = async (root: string, lowest: string): Promise<void> => {
  for (let folder = lowest; folder.length >= root.length; folder = dirname(folder)) {
    const handle = await open(folder, 'r').catch((thrown: unknown) => {
      // The object was deleted meanwhile, and its folder with it.
      if (!isErrno(thrown, 'ENOENT')) throw thrown
    })
    try {
      await handle?.sync()
    } finally {
      await handle?.close()
    }
  }
}

/** Puts a file where its key says, in folders that a delete may be removing at the same time. */
export const placeFile = async (root: string, target: string, move: () => Promise<boolean>): Promise<boolean> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await mkdir(dirname(target), { recursive: true })
      if (!(await move())) return false
      break
    } catch (thrown) {
      if (!isErrno(thrown, 'ENOENT') || attempt === 50) throw thrown
    }
  }
  await syncFolders(root, dirname(target))
  return true
}

/** Removes a file, and the folders that are empty without it. */
export const removeFile = async (root: string, target: string): Promise<void> => {
  await rm(target, { force: true })
  for (let folder = dirname(target); folder !== root; folder = dirname(folder)) {
    try {
      await rmdir(folder)
    } catch {
      // Not empty, or gone already.
      return
    }
  }
}
