import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type Credentials, openAdmin } from './admin.ts'
import { type Crd, ownCrds, realCrds } from './install-crds.ts'
import { startedCluster } from './started-cluster.ts'

const cluster = startedCluster()
const { admin } = cluster
const namespace = await cluster.namespaceFor(import.meta.url)
const PODS = `/api/v1/namespaces/${namespace}/pods`
const RBAC = 'rbac.authorization.k8s.io/v1'
const HOUR = 60 * 60 * 1_000

const statusFor = async (credentials: Credentials): Promise<number> =>
  (await openAdmin(cluster, credentials).request('GET', PODS)).status

// Not the role `view`: a controller fills that one, and there is none, so it allows nothing.
await admin.create(RBAC, 'roles', {
  kind: 'Role',
  metadata: { name: 'reader', namespace },
  rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
})

const bind = (subject: { kind: string; name: string; namespace?: string; apiGroup?: string }): Promise<unknown> =>
  admin.create(RBAC, 'rolebindings', {
    kind: 'RoleBinding',
    metadata: { generateName: 'reader-', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [subject],
  })

const shapeOf = ({ metadata: { name }, spec: { group, scope, names, versions } }: Crd): unknown => ({
  ...{ name, group, scope, kind: names.kind, plural: names.plural },
  versions: versions.map(({ name, served, storage, deprecated = false, subresources }) => {
    return { name, served, storage, deprecated, hasStatus: subresources?.status !== undefined }
  }),
})

describe('the API server of the tests', () => {
  it('is a real one', async () => {
    const { text } = await admin.request('GET', '/version')
    expect(JSON.parse(text)).toMatchObject({ major: '1', gitVersion: expect.stringMatching(/^v1\./) })
  })

  it('serves every kind in every version', async () => {
    for (const { spec } of ownCrds())
      for (const { name } of spec.versions)
        expect(await admin.list(`${spec.group}/${name}`, spec.names.plural)).toEqual(expect.any(Array))
  })

  it('has a kubeconfig that names it', () => {
    const { clusters, users } = parse(readFileSync(cluster.adminKubeconfig, 'utf8'))
    expect(clusters[0].cluster.server).toBe(cluster.server)
    expect(users[0].user.token).toBe(cluster.adminToken)
    expect(readFileSync(cluster.caFile, 'utf8')).toBe(cluster.ca)
  })

  it('keeps a resource and its status, each by its own way', async () => {
    const [api, plural, at] = ['toolhive.stacklok.dev/v1beta1', 'mcpgroups', { namespace, name: 'group' }]
    const group = { kind: 'MCPGroup', metadata: at, spec: { description: 'first' } }
    const created = await admin.create(api, plural, { ...group, status: { phase: 'Ready' } })
    expect(created.status).toBeUndefined()
    await admin.patchStatus(api, plural, at, { phase: 'Ready' })
    await admin.patch(api, plural, at, { metadata: { annotations: { a: 'b' } } })
    expect(await admin.get(api, plural, at)).toMatchObject({
      metadata: { annotations: { a: 'b' } },
      spec: { description: 'first' },
      status: { phase: 'Ready' },
    })
    const { metadata } = await admin.apply(api, plural, { ...group, spec: { description: 'second' } })
    await admin.replace(api, plural, { ...group, metadata, spec: { description: 'third' } })
    expect(await admin.list(api, plural, namespace)).toMatchObject([{ spec: { description: 'third' } }])
    await admin.remove(api, plural, at)
    expect(await admin.get(api, plural, at)).toBeUndefined()
  })

  it('tells an object that is not there from a kind that is not served', async () => {
    expect(await admin.get('v1', 'pods', { namespace, name: 'none' })).toBeUndefined()
    await expect(admin.get('v1', 'nones', { namespace, name: 'none' })).rejects.toThrow('404')
    await expect(admin.get('none.example/v1', 'nones', { namespace, name: 'none' })).rejects.toThrow('404')
  })
})

describe('who may do what', () => {
  it('nobody is let in with an unknown token, and without one nothing is allowed', async () => {
    expect(await statusFor({ token: 'unknown' })).toBe(401)
    expect(await statusFor({})).toBe(403)
  })

  it('a service account may do nothing until a role is bound to it', async () => {
    const token = await cluster.serviceAccountToken(namespace, 'reader')
    expect(await statusFor({ token })).toBe(403)
    await bind({ kind: 'ServiceAccount', name: 'reader', namespace })
    // The server learns of a binding a moment after it is written.
    await expect.poll(() => statusFor({ token })).toBe(200)
  })

  it('a client certificate names a user and a group', async () => {
    const notAfter = new Date(Date.now() + HOUR)
    const nobody = cluster.issueCertificate({ commonName: 'nobody', notAfter })
    expect(await statusFor(nobody)).toBe(403)
    const masters = cluster.issueCertificate({ commonName: 'someone', organization: 'system:masters', notAfter })
    expect(await statusFor(masters)).toBe(200)
    await bind({ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' })
    await expect.poll(() => statusFor(nobody)).toBe(200)
  })

  it('a client certificate that is over lets nobody in', async () => {
    const notAfter = new Date(Date.now() - HOUR)
    const over = cluster.issueCertificate({ commonName: 'late', organization: 'system:masters', notAfter })
    expect(await statusFor(over)).toBe(401)
  })
})

const real = realCrds()
it.runIf(real)('the CRDs of the project have the names and versions of the real ones', () => {
  const byName = new Map(ownCrds().map((crd) => [crd.metadata.name, shapeOf(crd)]))
  expect(Object.fromEntries(byName)).toEqual(
    Object.fromEntries((real ?? []).map((crd) => [crd.metadata.name, shapeOf(crd)])),
  )
})
