import { OperationError } from '../../core/model/operation-error.ts'
import type { ClusterCheck } from '../../core/ports.ts'
import { type Config, questionOf, type SourceConfig } from '../config/config.ts'
import { probe } from '../publication/with-probe.ts'
import { loadConfig } from './load-config.ts'
import { type Examined, renderExamined } from './render-doctor.ts'
import { clusterOpener } from './source-reader.ts'
import type { World } from './world.ts'

export type DoctorCommand = { readonly config?: string; readonly store?: string; readonly json?: true }

/** What cannot be had at all is one check that is not fine. */
const failureOf = (topic: ClusterCheck['topic'], error: unknown): ClusterCheck => {
  if (!(error instanceof OperationError)) throw error
  return { topic, what: error.message, isFine: false, isNeeded: true }
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
    // The Lease is in the cluster of the first source.
    const others = { events: report.events, ...(isFirst && watch.lease !== undefined && { lease: watch.lease }) }
    const checks = await cluster.check(questionOf(source), others)
    const what = `context ${cluster.context} at ${cluster.server}`
    return { of, checks: [{ topic: 'server', what, isFine: true, isNeeded: true }, ...checks] }
  } catch (error) {
    return { of, checks: [failureOf('server', error)] }
  }
}

const checkStore = async (url: string, world: World): Promise<Examined> => {
  const of = `store ${url.replace(/\?.*/, '')}`
  try {
    await probe(await world.openStore(url))
    const what = 'can be written, and honours conditions'
    return { of, checks: [{ topic: 'store', what, isFine: true, isNeeded: true }] }
  } catch (error) {
    return { of, checks: [failureOf('store', error)] }
  }
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
  const verdict = isWell ? 'A sync should work.' : 'A sync would fail; see FAIL above.'
  world.print(
    options.json
      ? `${JSON.stringify({ configuration: from, isWell, checks: examined }, null, 2)}\n`
      : `configuration: ${from}\n${examined.map(renderExamined).join('')}${verdict}\n`,
  )
  return isWell ? 0 : 1
}
