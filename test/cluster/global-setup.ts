import type { TestProject } from 'vitest/node'
import { openAdmin } from './admin.ts'
import { installCrds } from './install-crds.ts'
import { startKube } from './kube.ts'

/** Starts one API server a run. Where it cannot be had the run ends: what was not tested must not look tested. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const kube = await startKube().catch((thrown: unknown) => {
    const reason = thrown instanceof Error ? thrown.message : thrown
    throw new Error(`The API server could not be had, so nothing was tested.\n${reason}`)
  })
  try {
    await installCrds(openAdmin(kube, { token: kube.adminToken }))
  } catch (thrown) {
    await kube.stop()
    throw thrown
  }
  const { server, ca, caFile, adminToken, adminKubeconfig, authority } = kube
  project.provide('cluster', { server, ca, caFile, adminToken, adminKubeconfig, authority })
  return kube.stop
}
