import { execFileSync } from 'node:child_process'
import { openAdmin } from '../cluster/admin.ts'
import { installCrds } from '../cluster/install-crds.ts'
import { startKube } from '../cluster/kube.ts'
import type { ClusterRead } from './cluster-read.ts'

// How long a snapshot of a large cluster takes, against a bare paged fetch of the same lists, each in a process of its
// own, one after the other, five times.

const COUNT = 5_000
const RUNS = 5
const MOST_TIMES = 1.5
const MOST_MEBIBYTES = 256

const kube = await startKube()
const admin = openAdmin(kube, { token: kube.adminToken })

const inParallel = async (count: number, work: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

const fill = async (): Promise<void> => {
  await admin.create('v1', 'namespaces', { kind: 'Namespace', metadata: { name: 'large' } })
  const annotations = {
    'toolhive.stacklok.dev/registry-export': 'true',
    'toolhive.stacklok.dev/registry-description': 'One of many servers of a large cluster',
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ filler: 'x'.repeat(600) }),
  }
  await inParallel(COUNT, async (index) => {
    const name = `server-${String(index).padStart(5, '0')}`
    const meta = { namespace: 'large', name, annotations }
    await admin.create('toolhive.stacklok.dev/v1beta1', 'mcpservers', {
      kind: 'MCPServer',
      metadata: meta,
      spec: { image: 'ghcr.io/example/server:1.0.0', transport: 'streamable-http' },
    })
    await admin.create('v1', 'services', {
      kind: 'Service',
      metadata: { namespace: 'large', name: `mcp-${name}-proxy` },
      // The range of cluster addresses is small.
      spec: { clusterIP: 'None', ports: [{ port: 8080 }] },
    })
    await admin.create('gateway.networking.k8s.io/v1', 'httproutes', {
      kind: 'HTTPRoute',
      metadata: meta,
      spec: {
        parentRefs: [{ name: 'external', namespace: 'large' }],
        hostnames: ['mcp.example.com'],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
            backendRefs: [{ name: `mcp-${name}-proxy`, port: 8080 }],
          },
        ],
      },
    })
  })
}

const read = (mode: string): ClusterRead =>
  JSON.parse(
    execFileSync(process.execPath, [new URL('cluster-read.ts', import.meta.url).pathname, mode, kube.adminKubeconfig], {
      encoding: 'utf8',
    }),
  )

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

try {
  await installCrds(admin)
  const began = performance.now()
  await fill()
  console.log(`${3 * COUNT} objects made in ${((performance.now() - began) / 1_000).toFixed(0)} s`)
  const snapshots: ClusterRead[] = []
  const bares: ClusterRead[] = []
  for (let run = 0; run < RUNS; run++) {
    bares.push(read('bare'))
    snapshots.push(read('snapshot'))
  }
  const bare = median(bares.map(({ milliseconds }) => milliseconds))
  const snapshot = median(snapshots.map(({ milliseconds }) => milliseconds))
  const mebibytes = Math.max(...snapshots.map((each) => each.mebibytes))
  const isWhole = snapshots.every(({ objects }) => objects >= 3 * COUNT)
  console.log(
    `bare paged fetch   ${bare.toFixed(0)} ms, ${Math.max(...bares.map((each) => each.mebibytes)).toFixed(0)} MiB`,
  )
  console.log(`snapshot           ${snapshot.toFixed(0)} ms, ${mebibytes.toFixed(0)} MiB of ${MOST_MEBIBYTES}`)
  console.log(`times the bare     ${(snapshot / bare).toFixed(2)} of ${MOST_TIMES}`)
  if (!isWhole || snapshot / bare > MOST_TIMES || mebibytes > MOST_MEBIBYTES) process.exitCode = 1
} finally {
  await kube.stop()
}
