import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

// The commands of the README as a person starts them, with their real processes and signals.
const root = new URL('../..', import.meta.url).pathname
const { scripts }: { scripts: { prestart: string; start: string } } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)
const folder = mkdtempSync(join(tmpdir(), 'waypost-start-'))
/** The store of the scripts is a folder of the clone; here it is one of the test. */
const inFolder = (script: string): readonly string[] => script.replace('file:.waypost', `file:${folder}`).split(' ')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// What `npm start` runs: npm itself ends with the signal that it was sent, whatever its script does.
const start = (...args: readonly string[]): ChildProcess => {
  const [before = '', ...beforeArgs] = inFolder(scripts.prestart)
  const synced = spawnSync(before, beforeArgs, { cwd: root, encoding: 'utf8' })
  if (synced.status !== 0) throw new Error(synced.stderr)
  const [command = '', ...rest] = inFolder(scripts.start)
  const child = spawn(command, [...rest, ...args], { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  return child
}

/** What a failed test leaves running. */
const started: ChildProcess[] = []
afterEach(() => {
  for (const { pid, exitCode, signalCode } of started.splice(0)) {
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL')
  }
})

const said = (child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> =>
  new Promise((resolve, reject) => {
    let text = ''
    const look = (chunk: Buffer): void => {
      text += chunk
      const match = pattern.exec(text)
      if (match !== null) resolve(match)
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.on('close', () => reject(new Error(`it ended without saying ${pattern}: ${text}`)))
  })

const ended = async (child: ChildProcess): Promise<number | null> =>
  child.exitCode === null ? (await once(child, 'close'))[0] : child.exitCode

describe('npm start', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'publishes the examples to a folder, serves them from there, and ends cleanly on %s',
    async (signal) => {
      const child = start('--port', '0')
      const [, base] = await said(child, /(http:\/\/127\.0\.0\.1:\d+)\/v0\.1\/servers/)
      const list = await (await fetch(`${base}/v0.1/servers`)).json()
      expect(list).toMatchObject({ metadata: { count: 7 } })
      // As a terminal does it: to the whole group.
      if (child.pid !== undefined) process.kill(-child.pid, signal)
      expect(await ended(child)).toBe(0)
    },
  )

  test('says that a port is taken, and how to choose another', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const child = start('--port', String(port))
    await said(child, new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is taken.*--port`))
    expect(await ended(child)).toBe(1)
    other.close()
  })
})

describe('the built command', () => {
  let dist = ''
  beforeAll(() => {
    // Inside the project, so that the packages that it leaves outside are found.
    dist = mkdtempSync(join(root, 'node_modules', '.waypost-build-'))
    const built = spawnSync(process.execPath, [join(root, 'infra/dev/build.ts'), dist], { encoding: 'utf8' })
    if (built.status !== 0) throw new Error(built.stderr)
  })
  afterAll(() => rmSync(dist, { recursive: true, force: true }))

  const waypost = (args: readonly string[], input = '') =>
    spawnSync(join(dist, 'cli.js'), args, { encoding: 'utf8', input, cwd: root, maxBuffer: 64 * 1024 * 1024 })

  test('gives the same bytes as the sources', () => {
    const fromSources = spawnSync(
      process.execPath,
      ['functions/entry/cli.ts', 'compile', '--from', 'examples', '--json'],
      { encoding: 'utf8', cwd: root },
    )
    const built = waypost(['compile', '--from', 'examples', '--json'])
    expect([built.status, built.stderr]).toEqual([0, ''])
    expect(built.stdout).toBe(fromSources.stdout)
    expect(built.stdout.length).toBeGreaterThan(1000)
  })

  test('writes all of a large answer into a pipe', () => {
    const items = Array.from({ length: 2000 }, (_, index) => ({
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      kind: 'MCPServer',
      metadata: {
        name: `s${index}`,
        namespace: 'n',
        annotations: {
          'toolhive.stacklok.dev/registry-export': 'true',
          'toolhive.stacklok.dev/registry-url': `https://mcp.example.com/${index}`,
          'toolhive.stacklok.dev/registry-description': 'One of many',
        },
      },
    }))
    const { status, stdout } = waypost(
      ['compile', '--from', '-', '--json'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    )
    expect(status).toBe(0)
    expect(JSON.parse(stdout).registries.default.servers).toHaveLength(2000)
  })

  test('ends with 2 for a bad configuration and 1 for a missing path', () => {
    expect(waypost(['validate', '--config', 'package.json'])).toMatchObject({ status: 2, stdout: '' })
    expect(waypost(['compile', '--from', 'nowhere'])).toMatchObject({ status: 1, stdout: '' })
  })
})
