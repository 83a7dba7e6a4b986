import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { describeCrashes } from '../crash.ts'

const root = mkdtempSync(join(tmpdir(), 'waypost-crash-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const pathOf = (url: string): string => url.slice('file:'.length)

describeCrashes('a folder', {
  url: `file:${root}`,
  environment: {},
  clone: (from, to) => {
    // What is empty is not there yet.
    if (existsSync(pathOf(from))) cpSync(pathOf(from), pathOf(to), { recursive: true })
  },
  leftovers: (url) =>
    ['.tmp', '.locks'].flatMap((folder) => readdirSync(join(pathOf(url), folder)).map((file) => `${folder}/${file}`)),
})
