import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { cacheFolder } from '../../infra/dev/cache-folder.ts'
import { answers, freePort, startDaemon, stopDaemons, until } from '../daemon.ts'
import type { StartedServer } from './provided.ts'

// Microsoft's own emulator of Azure Blob. Not a dependency of the project: its 370 packages would double `npm ci`.

const CONTAINER = 'waypost-contract'
const ACCOUNT = 'waypost'
const manifests = new URL('../../infra/dev/azurite/', import.meta.url).pathname

const install = (): string => {
  const { dependencies }: { dependencies: { azurite: string } } = JSON.parse(
    readFileSync(join(manifests, 'package.json'), 'utf8'),
  )
  const folder = cacheFolder(`azurite-${dependencies.azurite}`)
  const program = join(folder, 'node_modules/azurite/dist/src/blob/main.js')
  if (existsSync(program)) return program
  console.error(`azurite: installing ${dependencies.azurite} into ${folder}, once`)
  // Installed aside, then renamed, so that an interrupted install is never taken for a whole one.
  mkdirSync(dirname(folder), { recursive: true })
  const aside = mkdtempSync(`${folder}.`)
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(manifests, file), join(aside, file))
  const [npm = 'npm', ...before] = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : []
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const { status } = spawnSync(npm, [...before, 'ci', ...quiet], { cwd: aside, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    if (status === 0) renameSync(aside, folder)
  } catch (thrown) {
    if (!existsSync(program)) throw thrown
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  if (!existsSync(program)) throw new Error('it could not be installed; the lines above say why')
  return program
}

export const startAzurite = async (): Promise<StartedServer> => {
  const program = install()
  const port = await freePort()
  const state = mkdtempSync(join(tmpdir(), 'waypost-azurite-'))
  const key = randomBytes(64).toString('base64')
  const command = [
    process.execPath,
    program,
    ...['--blobHost', '127.0.0.1', '--blobPort', String(port)],
    ...['--inMemoryPersistence', '--silent', '--skipApiVersionCheck', '--disableTelemetry'],
  ]
  const accounts = { AZURITE_ACCOUNTS: `${ACCOUNT}:${key}` }
  const daemon = startDaemon('azurite', join(state, 'azurite.out'), command, accounts)
  const stop = async (): Promise<void> => {
    await stopDaemons([daemon])
    rmSync(state, { recursive: true, force: true })
  }
  try {
    const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`
    await until('the start of azurite', [daemon], () => answers(endpoint))
    const service = new BlobServiceClient(endpoint, new StorageSharedKeyCredential(ACCOUNT, key))
    await service.getContainerClient(CONTAINER).create()
    const query = `?endpoint=${encodeURIComponent(endpoint)}`
    const environment = { AZURE_STORAGE_KEY: key }
    return { stores: [{ name: 'Azure Blob', base: `azblob://${ACCOUNT}/${CONTAINER}`, query, environment }], stop }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}
