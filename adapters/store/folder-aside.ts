import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isGone, thisProcess } from './folder-owner.ts'

const FORGOTTEN_MS = 60 * 60 * 1000

const asideIn = (root: string): string => join(root, '.tmp')

const exists = async (folder: string): Promise<boolean> => (await stat(folder).catch(() => undefined)) !== undefined

/**
 * Step by step: where nothing can be made, such as in /proc, `recursive` never ends, and of a read-only disk it says only
 * that something does not exist. Others may be making the same folders.
 */
export const makeFolder = async (folder: string): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await mkdir(folder)
      return
    } catch (thrown) {
      const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
      if (code === 'EEXIST') return
      if (code !== 'ENOENT' || dirname(folder) === folder || attempt === 3) throw thrown
      if (!(await exists(dirname(folder)))) await makeFolder(dirname(folder))
    }
  }
}

/** Writes a file beside the objects, whole and on the disk, to be linked or renamed into its place. */
export const writeAside = async (root: string, bytes: Uint8Array, sync: boolean): Promise<string> => {
  const { host, pid } = thisProcess()
  const path = join(asideIn(root), `${host}~${pid}~${randomBytes(8).toString('hex')}`)
  await makeFolder(asideIn(root))
  try {
    const file = await open(path, 'wx')
    try {
      await file.writeFile(bytes)
      // Before it gets its name: after a power cut there must be no object with that name and without its bytes.
      if (sync) await file.sync()
    } finally {
      await file.close()
    }
  } catch (thrown) {
    await rm(path, { force: true })
    throw thrown
  }
  return path
}

/** Removes what processes left that were killed while writing. */
export const sweepAside = async (root: string): Promise<void> => {
  for (const name of await readdir(asideIn(root))) {
    const path = join(asideIn(root), name)
    const [host = '', pid = ''] = name.split('~')
    const { mtimeMs = 0 } = (await stat(path).catch(() => undefined)) ?? {}
    if (isGone({ host, pid: Number(pid) }) || Date.now() - mtimeMs > FORGOTTEN_MS) await rm(path, { force: true })
  }
}
