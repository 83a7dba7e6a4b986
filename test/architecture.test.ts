import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'

// Who may know whom: the table of ARCHITECTURE.md, checked against the sources.

const root = new URL('..', import.meta.url).pathname
type Room = { readonly at: RegExp; readonly may: readonly RegExp[]; readonly pure: boolean }

const LIBRARIES = {
  pure: /^(semver|ipaddr\.js|@noble\/hashes\/.+)$/,
  functions: /^(hono|zod|yaml|commander|semver)(\/.+)?$/,
}

// Each SDK in the one file that needs it: what opens a folder must not load, nor a bundle hold, what opens a bucket.
const SDKS: Readonly<Record<string, RegExp>> = {
  'adapters/store/s3.ts': /^@aws-sdk\/client-s3$/,
  'adapters/store/azure.ts': /^@azure\/(storage-blob|identity)$/,
  'adapters/cluster/kubeconfig.ts': /^@kubernetes\/client-node$/,
  'adapters/cluster/connect.ts': /^@kubernetes\/client-node$/,
}
// These run in a Worker, where there is no node: module.
const ON_THE_EDGE = /^adapters\/store\/(r2|memory|key|store-failure)\.ts$/
const BESIDE_THEM = /^adapters\/store\/(?!folder|s3|azure|open-store|store-url)/

const ADAPTER: readonly RegExp[] = [/^core\/model\//, /^core\/ports\.ts$/, /^adapters\//, /^node:/, /^yaml$/]

const ROOMS: readonly Room[] = [
  { at: /^core\/model\/parse-/, may: [/^core\/model\//, /^zod$/], pure: true },
  { at: /^core\/model\/digest\.ts$/, may: [LIBRARIES.pure], pure: true },
  { at: /^core\/model\//, may: [/^core\/model\/(?!parse-)/], pure: true },
  { at: /^core\/ports\.ts$/, may: [/^core\/model\/(?!parse-)/], pure: true },
  ...['discover', 'compile', 'publish', 'serve'].map(
    (room): Room => ({
      at: new RegExp(`^core/${room}/`),
      may: [/^core\/model\/(?!parse-)/, new RegExp(`^core/${room}/`), LIBRARIES.pure],
      pure: true,
    }),
  ),
  {
    at: ON_THE_EDGE,
    may: [/^core\/model\/(?!parse-)/, /^core\/ports\.ts$/, BESIDE_THEM],
    pure: false,
  },
  ...Object.entries(SDKS).map(
    ([file, sdk]): Room => ({
      at: new RegExp(`^${file.replaceAll('.', '\\.')}$`),
      may: [...ADAPTER, sdk],
      pure: false,
    }),
  ),
  { at: /^adapters\/([^/]+)\//, may: ADAPTER, pure: false },
  { at: /^functions\/entry\//, may: [/./], pure: false },
  { at: /^functions\//, may: [/^core\//, /^functions\/(?!entry\/)/, LIBRARIES.functions], pure: true },
]

// What a pure file must not touch. `new Date(x)` and `Date.parse` only compute; `new Date()` and `Date.now` ask the clock.
const IMPURE =
  /\bprocess\.|\bconsole\.|\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bfetch\(|\bsetTimeout\(|\bsetInterval\(|\bcrypto\.|\bperformance\./
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"`]([^'"`]+)['"`]/g

const withoutComments = (source: string): string =>
  source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

/** What is wrong with one file, as sentences. */
const violations = (file: string, source: string): readonly string[] => {
  const room = ROOMS.find(({ at }) => at.test(file))
  if (room === undefined) return [`${file} is in no room`]
  const imports = [...withoutComments(source).matchAll(IMPORT)].map(
    ([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '',
  )
  const wrong = imports
    .map((specifier) =>
      specifier.startsWith('.') ? posix.normalize(posix.join(posix.dirname(file), specifier)) : specifier,
    )
    .filter((target) => !room.may.some((pattern) => pattern.test(target)))
    .map((target) => `${file} must not import ${target}`)
  const adapter = /^adapters\/([^/]+)\//.exec(file)?.[1]
  const foreign = imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.normalize(posix.join(posix.dirname(file), specifier)))
    .filter(
      (target) => adapter !== undefined && target.startsWith('adapters/') && !target.startsWith(`adapters/${adapter}/`),
    )
    .map((target) => `${file} must not know ${target}`)
  const impure = room.pure && IMPURE.exec(withoutComments(source))
  const locale = /\.localeCompare\(/.test(source)
    ? [`${file} uses localeCompare, whose order differs between machines`]
    : []
  return [...wrong, ...foreign, ...(impure ? [`${file} must not use ${impure[0]}`] : []), ...locale]
}

const sources = ['core', 'adapters', 'functions'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => posix.join(folder, file.replaceAll('\\', '/'))),
)

test('every source keeps to its room', () => {
  expect(sources.length).toBeGreaterThan(30)
  expect(sources.flatMap((file) => violations(file, readFileSync(join(root, file), 'utf8')))).toEqual([])
})

describe('a planted fault is found', () => {
  test.each([
    ['core/model/entry.ts', "import * as z from 'zod'"],
    ['core/model/entry.ts', "import { parseObject } from './parse-object.ts'"],
    ['core/discover/discover.ts', "import { compile } from '../compile/compile.ts'"],
    ['core/compile/compile.ts', "import { readFile } from 'node:fs/promises'"],
    ['core/serve/layout.ts', "import type { SnapshotReading } from '../model/parse-snapshot.ts'"],
    ['core/serve/layout.ts', "export { parseObject } from '../model/parse-object.ts'"],
    ['core/publish/guard.ts', "import { compile } from '../compile/compile.ts'"],
    ['functions/sync.ts', "import { openMemoryStore } from '../adapters/store/memory.ts'"],
    ['core/compile/compile.ts', 'const at = Date.now()'],
    ['core/compile/compile.ts', 'const at = new Date().toISOString()'],
    ['core/discover/discover.ts', "console.log('skipped')"],
    ['core/discover/discover.ts', "const zod = await import('zod')"],
    ['core/compile/report.ts', 'names.sort((a, b) => a.localeCompare(b))'],
    ['adapters/cluster/manifests.ts', "import { run } from '../../functions/cli/program.ts'"],
    ['adapters/cluster/manifests.ts', "import { open } from '../store/folder.ts'"],
    ['adapters/cluster/manifests.ts', "import { discover } from '../../core/discover/discover.ts'"],
    ['adapters/store/folder.ts', "import { S3 } from '@aws-sdk/client-s3'"],
    ['adapters/store/open-store.ts', "const { S3 } = await import('@aws-sdk/client-s3')"],
    ['adapters/store/azure.ts', "import { S3 } from '@aws-sdk/client-s3'"],
    ['adapters/store/s3.ts', "import { BlobServiceClient } from '@azure/storage-blob'"],
    ['adapters/store/s3.ts', "import { createManifestReader } from '../cluster/manifests.ts'"],
    ['adapters/store/r2.ts', "import { parse } from 'yaml'"],
    ['adapters/store/r2.ts', "import { createHash } from 'node:crypto'"],
    ['adapters/store/r2.ts', "import { openFolderStore } from './folder.ts'"],
    ['functions/compile.ts', "import { createManifestReader } from '../adapters/cluster/manifests.ts'"],
    ['functions/cli/program.ts', "import { listen } from '../entry/node.ts'"],
    ['functions/api/api.ts', 'const level = process.env.LEVEL'],
    ['elsewhere/file.ts', ''],
  ])('%s: %s', (file, line) => {
    expect(violations(file, `import type {\n  Something,\n} from './something.ts'\n${line}\n`)).toHaveLength(1)
  })
})
