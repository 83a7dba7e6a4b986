import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StartedServer } from './provided.ts'

/** The store without a server, so that whoever loops over all stores has all of them. */
export const startFolder = async (): Promise<StartedServer> => {
  const root = mkdtempSync(join(tmpdir(), 'waypost-stores-'))
  return {
    stores: [{ name: 'folder', base: `file:${root}`, query: '', environment: {} }],
    stop: async () => rmSync(root, { recursive: true, force: true }),
  }
}
