import { inject } from 'vitest'
import { type Admin, openAdmin } from './admin.ts'
import { type CertificateRequest, type Issued, issueCertificate } from './certificates.ts'
import type { ProvidedCluster } from './provided.ts'

export type StartedCluster = ProvidedCluster & {
  readonly admin: Admin
  readonly issueCertificate: (request: CertificateRequest) => Issued
  /** A new namespace for a test file, by its `import.meta.url`: files share the server and nothing else. */
  readonly namespaceFor: (file: string) => Promise<string>
  /** Of an account that is created unless it is there; it may do nothing until a role is bound to it. */
  readonly serviceAccountToken: (namespace: string, name: string) => Promise<string>
}

const namespaceFor = async (admin: Admin, file: string): Promise<string> => {
  const name = /([^/]+?)(\.test)?\.ts$/.exec(file)?.[1] ?? 'test'
  const generateName = `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-`
  return (await admin.create('v1', 'namespaces', { kind: 'Namespace', metadata: { generateName } })).metadata.name
}

const serviceAccountToken = async (admin: Admin, namespace: string, name: string): Promise<string> => {
  await admin.apply('v1', 'serviceaccounts', { kind: 'ServiceAccount', metadata: { namespace, name } })
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } }
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const { status, text } = await admin.request('POST', path, request)
  if (status !== 201) throw new Error(`no token for ${namespace}/${name}: ${status} ${text}`)
  const issued: { status: { token: string } } = JSON.parse(text)
  return issued.status.token
}

/** The API server of this run, with the CRDs, and nothing else in it but what tests put there. */
export const startedCluster = (): StartedCluster => {
  const cluster = inject('cluster')
  const admin = openAdmin(cluster, { token: cluster.adminToken })
  return {
    ...cluster,
    admin,
    issueCertificate: (request) => issueCertificate(cluster.authority, request),
    namespaceFor: (file) => namespaceFor(admin, file),
    serviceAccountToken: (namespace, name) => serviceAccountToken(admin, namespace, name),
  }
}
