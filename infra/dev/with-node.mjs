// Runs a tool or a script of this project with a Node that is new enough. Plain JavaScript, so that Node 20 can run it.
//   node infra/dev/with-node.mjs vitest run        a tool of node_modules/.bin
//   node infra/dev/with-node.mjs some/script.ts    a script (node options may come before it)
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = '22.23.2'
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

const oldest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '')
const isNewEnough = (version) => {
  const [major, minor] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldest.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}

const fail = (message) => {
  console.error(message)
  process.exit(1)
}

const installNode = () => {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const folder = join(root, '.node')
  const bin = join(folder, VERSION, 'node_modules', name, 'bin')
  if (existsSync(bin)) return bin
  console.error(`Node ${process.versions.node} is older than ${oldest}: installing Node ${VERSION} into .node/, once`)
  mkdirSync(folder, { recursive: true })
  // Installed aside, then renamed: an interrupted or a parallel install never leaves half a Node behind.
  const aside = mkdtempSync(join(folder, 'install-'))
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm']
  const args = [
    'install',
    '--prefix',
    aside,
    '--no-save',
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
    `${name}@${VERSION}`,
  ]
  const done = spawnSync(npm[0], [...npm.slice(1), ...args], {
    cwd: aside,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: !process.env.npm_execpath && platform === 'win',
  })
  if (done.status === 0) {
    try {
      renameSync(aside, join(folder, VERSION))
    } catch (error) {
      if (!existsSync(bin)) throw error
    }
  }
  rmSync(aside, { recursive: true, force: true })
  if (!existsSync(bin))
    fail(
      `Node ${VERSION} could not be installed from the package ${name}. Install Node ${oldest} or later yourself, then run this again.`,
    )
  return bin
}

const nodeBin = isNewEnough(process.versions.node) ? dirname(process.execPath) : installNode()
const node = join(nodeBin, process.platform === 'win32' ? 'node.exe' : 'node')
const [tool, ...rest] = process.argv.slice(2)
if (tool === undefined) fail('usage: node infra/dev/with-node.mjs TOOL|SCRIPT [ARGUMENTS]')

const isScript = tool.startsWith('-') || /\.[cm]?[jt]s$/.test(tool)
const toolPath = join(root, 'node_modules', '.bin', tool)
if (!isScript && !existsSync(toolPath)) fail(`${tool} is not installed: run npm ci first`)
const env = { ...process.env, PATH: [nodeBin, join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter) }
const [command, args] = isScript ? [node, [tool, ...rest]] : [toolPath, rest]
const child = spawn(command, args, { stdio: 'inherit', env, shell: !isScript && process.platform === 'win32' })
// Ctrl-C reaches the tool by itself. Passed on at once it would come twice, the second time while the tool is ending.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => setTimeout(() => child.kill(signal), 200))
child.on('error', (error) => fail(`${tool} could not be started: ${error.message}`))
child.on('close', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
