import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openFolderStore } from '../adapters/store/folder.ts'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { describeSequences } from './sequences.ts'

const folder = mkdtempSync(join(tmpdir(), 'waypost-sequences-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let stores = 0

describeSequences('memory', async () => openMemoryStore())
describeSequences('a folder', async () => openFolderStore(join(folder, String(stores++))))
