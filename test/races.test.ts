import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openFolderStore } from '../adapters/store/folder.ts'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { describeRaces } from './races.ts'

const folder = mkdtempSync(join(tmpdir(), 'waypost-races-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describeRaces(
  'memory',
  async () => {
    const store = openMemoryStore()
    return async () => store
  },
  10,
)
describeRaces('a folder', async () => async () => openFolderStore(folder), 3)
