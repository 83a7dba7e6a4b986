import { readFileSync } from 'node:fs'
import https, { type Agent, request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

// One read of a cluster in a process of its own, so that its memory can be told: `snapshot`, as a sync reads it, or
// `bare`, pages and nothing else.

export type ClusterRead = { readonly milliseconds: number; readonly mebibytes: number; readonly objects: number }

const [mode = 'snapshot', kubeconfig = ''] = process.argv.slice(2)

const readSnapshot = async (): Promise<number> => {
  const { connect } = await import('../../adapters/cluster/connect.ts')
  const { openCluster } = await import('../../adapters/cluster/open-cluster.ts')
  const cluster = openCluster(connect({ kubeconfig }, {}))
  const question = { source: 'cluster', scope: { namespaces: [], labelSelector: [] }, gatewayApi: true }
  began = performance.now()
  const { snapshot } = await cluster.read(question)
  return snapshot.resources.length + snapshot.services.length + snapshot.routes.length
}

const getJson = (
  agent: Agent,
  token: string,
  url: string,
): Promise<{ items: unknown[]; metadata: { continue?: string } }> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json', 'accept-encoding': 'gzip' }
    const sent = request(url, { agent, headers }, async (incoming) => {
      const body = await buffer(incoming)
      resolve(JSON.parse(String(incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body)))
    })
    sent.once('error', reject)
    sent.end()
  })

/** The same lists, page by page, kind by kind. */
const readBare = async (): Promise<number> => {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'))
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster
  const agent = new https.Agent({ keepAlive: true, ca: Buffer.from(ca, 'base64') })
  const gateway = '/apis/gateway.networking.k8s.io/v1'
  const toolhive = '/apis/toolhive.stacklok.dev/v1beta1'
  const paths = [
    ...['httproutes', 'listenersets', 'gateways', 'gatewayclasses', 'referencegrants'].map(
      (name) => `${gateway}/${name}`,
    ),
    ...[
      'mcpservers',
      'mcpremoteproxies',
      'virtualmcpservers',
      'mcpserverentries',
      'mcpgroups',
      'mcpexternalauthconfigs',
    ].map((name) => `${toolhive}/${name}`),
    '/api/v1/services',
    '/api/v1/namespaces',
  ]
  let objects = 0
  began = performance.now()
  for (const path of paths) {
    let next = ''
    do {
      const page = await getJson(
        agent,
        users[0].user.token,
        `${server}${path}?limit=500&continue=${encodeURIComponent(next)}`,
      )
      objects += page.items.length
      next = page.metadata.continue ?? ''
    } while (next !== '')
  }
  agent.destroy()
  return objects
}

let began = performance.now()
const objects = await (mode === 'bare' ? readBare() : readSnapshot())
const read: ClusterRead = {
  milliseconds: performance.now() - began,
  mebibytes: process.resourceUsage().maxRSS / 1024,
  objects,
}
process.stdout.write(JSON.stringify(read))
process.exit(0)
