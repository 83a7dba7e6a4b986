import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createManifestReader } from '../adapters/cluster/manifests.ts'
import { openFolderStore } from '../adapters/store/folder.ts'
import { openMemoryStore } from '../adapters/store/memory.ts'
import type { BlobStore } from '../core/ports.ts'
import { createApi } from '../functions/api/api.ts'
import { run } from '../functions/cli/program.ts'
import type { World } from '../functions/cli/world.ts'
import { createReader } from '../functions/publication/reader.ts'
import { clockAt } from './clock.ts'

// What a person sees when the disk or the store does not do what it should, and what is left of what was published.

const root = new URL('..', import.meta.url).pathname
const place = mkdtempSync(join(tmpdir(), 'waypost-failures-'))
const isRoot = process.getuid?.() === 0

const mounted: string[] = []
afterAll(() => {
  for (const folder of mounted) spawnSync('umount', [folder])
  rmSync(place, { recursive: true, force: true })
})

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(place, 'store-'))
  // Others may look into it: what is denied below is denied by what it is about.
  for (const each of [place, folder]) chmodSync(each, 0o755)
})

const manifests = (...names: readonly string[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: names.map((name) => ({
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      kind: 'MCPServer',
      metadata: {
        name,
        namespace: 'team',
        annotations: {
          'toolhive.stacklok.dev/registry-export': 'true',
          'toolhive.stacklok.dev/registry-url': `https://mcp.example.com/${name}`,
          'toolhive.stacklok.dev/registry-description': `Server ${name}`,
        },
      },
    })),
  })
const manyNames = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `s${index}`)

/** The command as it is started, in a process of its own. */
const waypost = (path: string, input: string, script = 'functions/entry/cli.ts') => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(root, script), 'sync', '--from', '-', '--force'],
    { cwd: place, encoding: 'utf8', input, env: { WAYPOST_PUBLISH_STORE: `file:${path}` } },
  )
  return { status, stdout, stderr }
}

const servedFrom = async (store: BlobStore): Promise<string> =>
  (await createApi(createReader(store, clockAt(Date.now))).request('/v0.1/servers')).text()
const countOf = async (path: string): Promise<number> =>
  JSON.parse(await servedFrom(openFolderStore(path))).metadata.count

const filesOf = (path: string): readonly string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()

/** One line for a person: what failed, why, and what to do. */
const expectOneLine = (
  { status, stdout, stderr }: ReturnType<typeof waypost>,
  cause: RegExp,
  fix: RegExp,
  path = folder,
): void => {
  expect([status, stdout, stderr.split('\n').length]).toEqual([1, '', 2])
  expect(stderr).toMatch(/^waypost: Cannot \w+/)
  expect(stderr).toContain(path)
  expect(stderr).toMatch(cause)
  expect(stderr).toMatch(fix)
}

describe('a full disk', () => {
  const mount = (kilobytes: number): string => {
    if (!isRoot) throw new Error('A small disk can only be mounted by root. Run this test as root, as CI does.')
    const disk = join(folder, 'disk')
    mkdirSync(disk)
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', disk], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`A small disk could not be mounted: ${stderr}`)
    mounted.push(disk)
    return disk
  }

  test('ends with 1 and a line that says so; what was published is served, and room makes it work again', async () => {
    const disk = mount(512)
    expect(waypost(disk, manifests('alpha', 'beta')).status).toBe(0)
    const before = await servedFrom(openFolderStore(disk))
    const ballast = join(disk, 'ballast')
    // All that is left but a few pages: enough to begin with, too little to end.
    writeFileSync(ballast, Buffer.alloc(256 * 1024))
    const failed = waypost(disk, manifests(...manyNames(400)))
    expectOneLine(failed, /disk is full/, /Make room/, disk)
    expect(await servedFrom(openFolderStore(disk))).toBe(before)
    expect(filesOf(join(disk, '.tmp'))).toEqual([])
    rmSync(ballast)
    expect(waypost(disk, manifests('alpha', 'beta', 'gamma')).status).toBe(0)
    expect(await countOf(disk)).toBe(3)
  })

  test('to the last byte, nothing breaks either', async () => {
    const disk = mount(256)
    expect(waypost(disk, manifests('alpha')).status).toBe(0)
    const before = await servedFrom(openFolderStore(disk))
    const { stderr } = spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'ballast')}`, 'bs=4096'], { encoding: 'utf8' })
    expect(stderr).toContain('No space left')
    expectOneLine(waypost(disk, manifests('alpha', 'beta')), /disk is full/, /Make room/, disk)
    expect(await servedFrom(openFolderStore(disk))).toBe(before)
  })
})

describe('a folder that this user may only read', () => {
  test('ends with 1 and a line that says so; what was published is served', async () => {
    expect(waypost(folder, manifests('alpha', 'beta')).status).toBe(0)
    const before = await servedFrom(openFolderStore(folder))
    const files = filesOf(folder).map((file) => [file, readFileSync(file).toString('base64')])
    const seal = (path: string): void => {
      chmodSync(path, 0o555)
      for (const entry of readdirSync(path, { withFileTypes: true }))
        if (entry.isDirectory()) seal(join(path, entry.name))
    }
    seal(folder)
    const failed = waypost(folder, manifests('alpha', 'beta', 'gamma'), 'test/unprivileged-cli.ts')
    expectOneLine(failed, /may not write/, /Give the user .* the folder, or name another/)
    expect(filesOf(folder).map((file) => [file, readFileSync(file).toString('base64')])).toEqual(files)
    expect(await servedFrom(openFolderStore(folder))).toBe(before)
  })

  test('that belongs to others, and has never been published to, is refused as well', () => {
    const path = join(folder, 'sealed')
    mkdirSync(path, { mode: 0o555 })
    if (isRoot) chownSync(path, 0, 0)
    const failed = waypost(path, manifests('alpha'), 'test/unprivileged-cli.ts')
    expectOneLine(failed, /may not write/, /Give the user/, path)
    expect(readdirSync(path)).toEqual([])
  })

  test('that cannot even be read is not taken for empty', () => {
    expect(waypost(folder, manifests('alpha')).status).toBe(0)
    const copy = join(place, 'secret')
    cpSync(folder, copy, { recursive: true })
    chmodSync(join(copy, 'default'), 0o000)
    const failed = waypost(copy, manifests('alpha', 'beta'), 'test/unprivileged-cli.ts')
    chmodSync(join(copy, 'default'), 0o755)
    expectOneLine(failed, /may not read/, /right to read/, copy)
  })
})

describe('a store path that is no folder', () => {
  test('but a file is left as it is', () => {
    const path = join(folder, 'registry')
    writeFileSync(path, 'precious')
    expectOneLine(waypost(path, manifests('alpha')), /is a file, not a folder/, /Name a folder/, path)
    expect(readFileSync(path, 'utf8')).toBe('precious')
  })

  test('but something below a file says so too', () => {
    const path = join(folder, 'registry')
    writeFileSync(path, 'precious')
    const below = join(path, 'store')
    expectOneLine(waypost(below, manifests('alpha')), /a file/, /folder/, below)
  })

  test('where an object should be is said, not waited for', () => {
    mkdirSync(join(folder, 'default', 'current.json', 'x'), { recursive: true })
    const failed = waypost(folder, manifests('alpha'))
    expect([failed.status, failed.stderr.split('\n').length]).toEqual([1, 2])
    expect(failed.stderr).toMatch(/folder where a file must be/)
  })
})

describe('a store that ignores conditions on writes', () => {
  const sync = async (store: BlobStore, input: string) => {
    const said: string[] = []
    const errors: string[] = []
    const world: World = {
      version: '0',
      environment: {},
      now: () => Date.parse('2026-01-01T00:00:00Z'),
      wait: async () => {},
      print: (text) => void said.push(text),
      printError: (text) => void errors.push(text),
      readManifests: createManifestReader(Readable.from([input])),
      readFile: async () => ({ kind: 'absent' }),
      openCluster: () => Promise.reject(new Error('there is no cluster')),
      stopped: () => new AbortController().signal,
      openStore: async () => store,
      listen: async () => ({ port: 0, closed: Promise.resolve() }),
    }
    return { code: await run(['sync', '--from', '-'], world), errors: errors.join(''), output: said.join('') }
  }

  const KINDS = {
    all: () => true,
    'If-None-Match': (expected: unknown) => expected === 'absent',
    'If-Match': (expected: unknown) => expected !== 'absent',
  }

  test.each(Object.entries(KINDS))('(%s) is refused, and nothing is published', async (_, isIgnored) => {
    const store = openMemoryStore()
    const careless: BlobStore = {
      ...store,
      write: (key, bytes, expected) => store.write(key, bytes, isIgnored(expected) ? 'any' : expected),
    }
    const { code, errors, output } = await sync(careless, manifests('alpha'))
    expect([code, output]).toEqual([1, ''])
    expect(errors).toMatch(/^waypost: The store ignores conditions on writes.*Use one that honours.*\n$/)
    const keys = await store.list('')
    expect(keys.filter((key) => /current\.json|index\.json|publications|chunks/.test(key))).toEqual([])
    expect(
      (
        await createApi(
          createReader(
            store,
            clockAt(() => 0),
          ),
        ).request('/v0.1/servers')
      ).status,
    ).toBe(503)
  })

  test('is refused also where something was published before, which stays', async () => {
    const store = openMemoryStore()
    expect((await sync(store, manifests('alpha'))).code).toBe(0)
    const before = await servedFrom(store)
    const careless: BlobStore = { ...store, write: (key, bytes) => store.write(key, bytes, 'any') }
    expect(await sync(careless, manifests('alpha', 'beta'))).toMatchObject({ code: 1, output: '' })
    expect(await servedFrom(store)).toBe(before)
  })
})
