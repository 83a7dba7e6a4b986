import type { ReadAs } from '../../core/model/snapshot.ts'
import { createApi } from '../api/api.ts'
import { compileManifests } from '../compile.ts'
import type { Config } from '../config/config.ts'
import { INDEX_KEY } from '../publication/keys.ts'
import { publishCompilation } from '../publication/publish-compilation.ts'
import { createReader, type Reader } from '../publication/reader.ts'
import type { RegistryHealth } from '../publication/registry-health.ts'
import { indexOf } from '../publication/write-index.ts'
import { loadConfig } from './load-config.ts'
import { renderCompilation } from './render-compilation.ts'
import { renderAge } from './render-status.ts'
import { UsageError, type World } from './world.ts'

export type ServeCommand = {
  readonly from?: string
  readonly as: ReadAs
  readonly config?: string
  readonly host: string
  readonly port: number
  readonly store?: string
}

const checkServable = (config: Config): void => {
  if (config.auth.mode !== 'anonymous')
    throw new UsageError(
      `auth.mode is ${config.auth.mode}, but private registries are not built yet. Set auth.mode: anonymous to serve to everyone.`,
    )
  if (indexOf(config).registries.length === 0)
    throw new UsageError(
      'Every registry has claims, and private registries are not built yet: there is nothing to serve.',
    )
}

/** What manifests give, compiled now and kept in memory. */
const openManifests = async (from: string, as: ReadAs, config: Config, world: World): Promise<Reader> => {
  const compilation = compileManifests(config, await world.readManifests(from), as, world.now())
  const store = await world.openStore('memory:')
  await publishCompilation(store, config, compilation, world.now())
  world.print(renderCompilation(compilation))
  return createReader(store, world)
}

const healthLine = ({ name, status, published, detail }: RegistryHealth): string =>
  status === 'nothing'
    ? `${name}: nothing to serve yet. Run waypost sync.${detail === undefined ? '' : ` ${detail}`}`
    : `${name}: ${status}, published ${renderAge((published ?? 0) * 1000)} ago`

/** What was published. A store that cannot be read at all is said now, not by the first request. */
const openPublished = async (url: string, world: World): Promise<Reader> => {
  const store = await world.openStore(url)
  await store.read(INDEX_KEY)
  let said = ''
  const tellOperator = (message: string): void => {
    if (message !== said) world.printError(`waypost: ${message}\n`)
    said = message
  }
  const reader = createReader(store, world, tellOperator)
  const { registries } = await reader.health()
  const lines =
    registries.length === 0 ? ['Nothing has been published yet. Run waypost sync.'] : registries.map(healthLine)
  world.print(`Serving ${url}\n${lines.map((line) => `  ${line}\n`).join('')}`)
  return reader
}

export const runServe = async (options: ServeCommand, world: World): Promise<void> => {
  const { config } = await loadConfig(options.config, world)
  checkServable(config)
  const reader =
    options.from === undefined
      ? await openPublished(options.store ?? config.publish.store, world)
      : await openManifests(options.from, options.as, config, world)
  const { port, closed } = await world.listen(
    createApi(reader, { version: world.version, compresses: true }),
    options.host,
    options.port,
  )
  const base = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`
  const names = await reader.registries()
  world.print(
    [
      'Open:',
      `  ${base}/v0.1/servers`,
      ...names.map((name) => `  ${base}/registry/${name}/v0.1/servers`),
      `  ${base}/readyz`,
      'Ctrl-C ends it.',
      '',
    ].join('\n'),
  )
  await closed
}
