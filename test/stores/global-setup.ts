import type { TestProject } from 'vitest/node'
import { startAzurite } from './azurite.ts'
import { startCeph } from './ceph.ts'
import { startFolder } from './folder.ts'
import type { StartedServer } from './provided.ts'
import { startWorkerd } from './workerd.ts'

const STARTS: Readonly<Record<string, () => Promise<StartedServer>>> = {
  ceph: startCeph,
  workerd: startWorkerd,
  azurite: startAzurite,
  folder: startFolder,
}

/** Starts all servers, once a run. One that cannot be had ends the run: what was not tested must not look tested. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const names = Object.keys(STARTS)
  const started = await Promise.allSettled(Object.values(STARTS).map((start) => start()))
  const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()))
  }
  const problems = started.flatMap((one, index) =>
    one.status === 'rejected'
      ? [`${names[index]}: ${one.reason instanceof Error ? one.reason.message : one.reason}`]
      : [],
  )
  if (problems.length > 0) {
    await stop()
    throw new Error(`These servers could not be had, so nothing was tested.\n${problems.join('\n')}`)
  }
  project.provide(
    'stores',
    servers.flatMap((server) => server.stores),
  )
  return stop
}
