import { OperationError } from '../../core/model/operation-error.ts'
import type { ClusterCheck } from '../../core/ports.ts'
import { type Config, questionOf, type SourceConfig } from '../config/config.ts'
import { probe } from '../publication/with-probe.ts'
import { loadConfig } from './load-config.ts'
import { clusterOpener } from './source-reader.ts'
import type { World } from './world.ts'

export type DoctorCommand = { readonly config?: string; readonly store?: string; readonly json?: true }

type Examined = { readonly of: string; readonly checks: readonly ClusterCheck[] }

/** What cannot be had at all is one check that is not fine. */
const failureOf = (error: unknown): ClusterCheck => {
  if (!(error instanceof OperationError)) throw error
  return { what: error.message, isFine: false, isNeeded: true }
}

const checkSource = async (
  source: SourceConfig,
  { watch, report }: Config,
  open: ReturnType<typeof clusterOpener>,
  isFirst: boolean,
): Promise<Examined> => {
  const of = `source ${source.name}`
  try {
    const cluster = await open(source)
    const others = { events: report.events, ...(isFirst && watch.lease !== undefined && { lease: watch.lease }) }
    const checks = await cluster.check(questionOf(source), others)
    const way = { what: `context ${cluster.context}, ${cluster.server}`, isFine: true, isNeeded: true }
    return { of, checks: [way, ...checks] }
  } catch (error) {
    return { of, checks: [failureOf(error)] }
  }
}

const checkStore = async (url: string, world: World): Promise<Examined> => {
  const of = `store ${url.replace(/\?.*/, '')}`
  try {
    await probe(await world.openStore(url))
    return { of, checks: [{ what: 'conditions on writes are honoured', isFine: true, isNeeded: true }] }
  } catch (error) {
    return { of, checks: [failureOf(error)] }
  }
}

const lineOf = ({ what, isFine, isNeeded, fix }: ClusterCheck): string => {
  const mark = isFine ? 'ok  ' : isNeeded ? 'FAIL' : 'warn'
  return `  ${mark}  ${what}${fix === undefined ? '' : `\n        ${fix}`}\n`
}

/** Checks what a sync needs, one by one, and says what to add. Exit code 1 where a sync would fail. */
export const runDoctor = async (options: DoctorCommand, world: World): Promise<number> => {
  const { config, from } = await loadConfig(options.config, world)
  const open = clusterOpener(world)
  const examined: Examined[] = []
  for (const [index, source] of config.sources.entries())
    examined.push(await checkSource(source, config, open, index === 0))
  examined.push(await checkStore(options.store ?? config.publish.store, world))
  const isWell = examined.every(({ checks }) => checks.every(({ isFine, isNeeded }) => isFine || !isNeeded))
  world.print(
    options.json
      ? `${JSON.stringify({ configuration: from, isWell, checks: examined }, null, 2)}\n`
      : [
          `configuration: ${from}\n`,
          ...examined.map(({ of, checks }) => `${of}\n${checks.map(lineOf).join('')}`),
          isWell ? 'A sync should work.\n' : 'A sync would fail; see FAIL above.\n',
        ].join(''),
  )
  return isWell ? 0 : 1
}
