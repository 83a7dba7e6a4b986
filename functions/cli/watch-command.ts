import type { Synced } from '../sync.ts'
import { watch } from '../watch.ts'
import { loadConfig } from './load-config.ts'
import { renderSync } from './render-sync.ts'
import { clusterOpener, tellerOf } from './source-reader.ts'
import { changesOf, checkSource } from './sync-command.ts'
import type { World } from './world.ts'

export type WatchCommand = { readonly config?: string; readonly store?: string }

/** What is worth a line: what was written, and how the sources are where that has changed. */
const toldOf = ({ registries }: Synced): string =>
  JSON.stringify(
    registries.map(({ report: { problem, untold, sources } }) => [
      problem,
      untold,
      sources.map((source) => [source.isFresh, source.problem]),
    ]),
  )

/** Runs until it is stopped, and says what it does. */
export const runWatch = async (options: WatchCommand, world: World): Promise<void> => {
  const { config } = await loadConfig(options.config, world)
  checkSource(config, undefined)
  const store = await world.openStore(options.store ?? config.publish.store)
  const open = clusterOpener(world)
  const say = (text: string): void => world.print(`${new Date(world.now()).toISOString()} ${text}`)
  const { lease } = config.watch
  if (lease !== undefined) say(`waiting for the Lease ${lease.namespace}/${lease.name}\n`)
  let told = ''
  await watch(config, {
    store,
    now: world.now,
    wait: world.wait,
    open,
    tell: tellerOf(config, open),
    stopped: world.stopped(),
    onSync: async (synced) => {
      const isNew = toldOf(synced) !== told
      told = toldOf(synced)
      const hasWritten = synced.registries.some(({ report }) => report.action === 'write')
      if (isNew || hasWritten) say(renderSync(synced, await changesOf(store, synced), false))
    },
    onProblem: (text) => world.printError(`${new Date(world.now()).toISOString()} ${text}\n`),
    onLead: (isHeld) => say(isHeld ? 'this replica publishes\n' : 'another replica publishes\n'),
  })
  say('stopped\n')
}
