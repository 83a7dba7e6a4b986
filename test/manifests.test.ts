import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createManifestReader } from '../adapters/cluster/manifests.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waypost-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const read = createManifestReader(Readable.from(['kind: Standard\n']))
const write = (file: string, content: string): void => {
  mkdirSync(join(folder, file, '..'), { recursive: true })
  writeFileSync(join(folder, file), content)
}
const filesOf = async (path: string) => (await read(path)).documents.map(({ file, document }) => `${file} ${document}`)

test('a folder is read with all below it, by path, but for hidden folders and node_modules', async () => {
  write('b.yml', 'a: 1\n---\nb: 2\n')
  write('a/deep/c.JSON', '{}')
  write('a/values.txt', 'no')
  write('.git/x.yaml', 'no: 1')
  write('node_modules/y/package.json', '{}')
  expect(await filesOf(folder)).toEqual(['a/deep/c.JSON 1', 'b.yml 1', 'b.yml 2'])
})

test('a mounted ConfigMap, whose files are links, is read once', async () => {
  write('..data/a.yaml', 'a: 1')
  symlinkSync(join('..data', 'a.yaml'), join(folder, 'a.yaml'))
  expect(await filesOf(folder)).toEqual(['a.yaml 1'])
})

test('a single file is called by its name, whatever it ends with', async () => {
  write('dump', 'kind: List\n')
  expect(await filesOf(join(folder, 'dump'))).toEqual(['dump 1'])
})

test('- is standard input', async () => {
  expect((await read('-')).documents).toEqual([{ kind: 'read', file: '-', document: 1, value: { kind: 'Standard' } }])
})

test('a path that cannot be read is an error that names it, not an empty cluster', async () => {
  await expect(read(join(folder, 'nowhere'))).rejects.toThrow(/nowhere: it does not exist/)
})

test('a link to nothing inside a folder is an error too: a partial read is no read', async () => {
  write('a.yaml', 'a: 1')
  symlinkSync('missing.yaml', join(folder, 'b.yaml'))
  await expect(read(folder)).rejects.toThrow(/Cannot read/)
})
