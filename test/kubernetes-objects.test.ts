import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type KindToRead, STAGES } from '../adapters/cluster/kinds.ts'
import { parseConfig } from '../functions/config/config.ts'

// What infra/kubernetes allows and runs. Whether kustomize builds it is tried by hand: docs/kubernetes.md.

const root = new URL('../infra/kubernetes', import.meta.url).pathname

type Rule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
  readonly nonResourceURLs?: unknown
}
type Container = { readonly image: string; readonly securityContext?: unknown; readonly resources?: unknown }
type PodSpec = {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly securityContext?: unknown
  readonly volumes: readonly { readonly configMap?: { readonly name: string } }[]
  readonly [field: string]: unknown
}
type Workload = { readonly template?: { readonly spec: PodSpec } }
type KubeObject = {
  readonly file: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[]
  readonly spec?: Workload & { readonly jobTemplate?: { readonly spec: Workload } }
}
type Kustomization = {
  readonly folder: string
  readonly namespace?: string
  readonly nameSuffix?: string
  readonly bases?: readonly string[]
  readonly resources?: readonly string[]
  readonly patchesStrategicMerge?: readonly string[]
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[]
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.ya?ml$/.test(file))
const documentsOf = <T>(file: string): readonly T[] =>
  parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((document) => {
    if ('errors' in document && document.errors[0] !== undefined) throw document.errors[0]
    return document.toJS()
  })
const isKustomization = (file: string): boolean => basename(file) === 'kustomization.yaml'
const isConfig = (file: string): boolean => basename(file) === 'waypost.yaml'

const kustomizations = files
  .filter(isKustomization)
  .flatMap((file) => documentsOf<Kustomization>(file).map((value) => ({ ...value, folder: dirname(file) })))
const objects = files
  .filter((file) => !isKustomization(file) && !isConfig(file))
  .flatMap((file) => documentsOf<KubeObject>(file).map((value) => ({ ...value, file })))
const overlays = kustomizations.filter(({ folder }) => folder.startsWith('overlays/'))

const rulesOf = (folder: string): readonly Rule[] =>
  objects.filter(({ file }) => file === `roles/${folder}/role.yaml`).flatMap(({ rules = [] }) => rules)
/** One line for each thing that rules allow. */
const rights = (rules: readonly Rule[]): readonly string[] =>
  rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    )
    .sort()

const PLURALS: Readonly<Record<string, string>> = {
  MCPRemoteProxy: 'mcpremoteproxies',
  MCPServerEntry: 'mcpserverentries',
  GatewayClass: 'gatewayclasses',
}
const KINDS = STAGES.flat()
const READ = ['get', 'list', 'watch']
const rightsTo = (kinds: readonly KindToRead[], verbs: readonly string[]): readonly string[] =>
  rights(
    kinds.map(({ kind, group }) => {
      return { apiGroups: [group], resources: [PLURALS[kind] ?? `${kind.toLowerCase()}s`], verbs }
    }),
  )

describe('files', () => {
  test('each is named by a kustomization, and all that are named are there', () => {
    const named = kustomizations.flatMap((each) =>
      [
        ...(each.bases ?? []).map((base) => `${base}/kustomization.yaml`),
        ...(each.resources ?? []),
        ...(each.patchesStrategicMerge ?? []),
        ...(each.configMapGenerator ?? []).flatMap((generator) => generator.files),
      ].map((path) => join(each.folder, path)),
    )
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
    expect(files.filter((file) => !isKustomization(file) && !named.includes(file))).toEqual([])
    expect(overlays.map(({ folder }) => folder).sort()).toEqual([
      'overlays/dev',
      'overlays/production',
      'overlays/staging',
    ])
  })

  test('kustomizations have only fields that kustomize 2.0.3 and 5 both know, and folders only as bases', () => {
    const known = ['apiVersion', 'kind', 'namespace', 'nameSuffix', 'commonLabels', 'bases', 'resources', 'images']
    known.push('configMapGenerator', 'patchesStrategicMerge', 'folder')
    expect(kustomizations.flatMap((each) => Object.keys(each).filter((key) => !known.includes(key)))).toEqual([])
    expect(
      kustomizations.flatMap(({ resources = [] }) => resources.filter((path) => !/^[a-z-]+\.yaml$/.test(path))),
    ).toEqual([])
  })
})

describe('roles', () => {
  const roles = objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')

  test('none has a wildcard, Secrets or URLs, and ConfigMaps are in no ClusterRole', () => {
    expect(roles.length).toBeGreaterThan(9)
    for (const { file, kind, rules = [] } of roles) {
      const words = rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs])
      expect(words, file).not.toContainEqual(expect.stringMatching(/\*|^secrets/))
      if (kind === 'ClusterRole') expect(words, file).not.toContainEqual(expect.stringMatching(/^configmaps/))
      expect(
        rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined),
        file,
      ).toEqual([])
    }
  })

  test('those that read only read', () => {
    const reading = roles.filter(({ metadata }) => metadata.name.startsWith('waypost-read'))
    expect(
      roles
        .filter((role) => !reading.includes(role))
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual(['waypost-events', 'waypost-events', 'waypost-lease'])
    for (const { file, rules = [] } of reading)
      expect(READ, file).toEqual(expect.arrayContaining(rules.flatMap(({ verbs }) => verbs)))
  })

  test('in all namespaces, they allow exactly what a source reads', () => {
    expect(rights(rulesOf('read'))).toEqual(rightsTo(KINDS, READ))
    expect(rights(rulesOf('read-without-gateway-api'))).toEqual(
      rightsTo(
        KINDS.filter(({ isRoute }) => !isRoute),
        READ,
      ),
    )
  })

  test('in one namespace, they allow that but GatewayClasses, and of Namespaces only its own', () => {
    const inside = KINDS.filter(({ isNamespaced }) => isNamespaced)
    expect(rights(rulesOf('read-in-namespace'))).toEqual([...rightsTo(inside, READ), 'get namespaces.'].sort())
    expect(rights(rulesOf('read-in-namespace-without-gateway-api'))).toEqual(
      rightsTo(
        inside.filter(({ isRoute }) => !isRoute),
        READ,
      ),
    )
  })

  test('what is asked for by name elsewhere can only be got', () => {
    const gateway = 'gateway.networking.k8s.io'
    expect(rights(rulesOf('read-gateway-classes'))).toEqual([`get gatewayclasses.${gateway}`])
    expect(rights(rulesOf('read-in-gateway-namespace'))).toEqual([
      `get gateways.${gateway}`,
      `get listenersets.${gateway}`,
      'get namespaces.',
    ])
    expect(rights(rulesOf('read-in-service-namespace'))).toEqual(['get services.', `list referencegrants.${gateway}`])
  })

  test('one Lease can be held, and Events can only be made', () => {
    const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
    expect(rulesOf('lease')).toEqual([
      { ...leases, resourceNames: ['waypost'], verbs: ['get', 'update'] },
      { ...leases, verbs: ['create'] },
    ])
    for (const folder of ['events', 'events-in-namespace']) expect(rights(rulesOf(folder))).toEqual(['create events.'])
  })

  test('each is bound where it is, to the account of Waypost alone', () => {
    for (const role of roles) {
      const bindings = objects.filter(({ file, roleRef }) => file === role.file && roleRef !== undefined)
      expect(bindings, role.file).toMatchObject([
        { kind: `${role.kind}Binding`, roleRef: { kind: role.kind, name: role.metadata.name } },
      ])
      // kustomize 5 fills the namespace in only where there is none, and only where the account is built with it.
      const isBuiltAlone = role.kind === 'Role' && role.file !== 'roles/lease/role.yaml'
      const account = { kind: 'ServiceAccount', name: 'waypost' }
      expect(bindings[0]?.subjects, role.file).toEqual([
        isBuiltAlone ? { ...account, namespace: 'toolhive-system' } : account,
      ])
    }
  })
})

describe('pods', () => {
  const pods = objects.flatMap(({ file, spec }) => {
    const pod = (spec?.jobTemplate?.spec ?? spec)?.template?.spec
    return pod === undefined ? [] : [{ file, pod }]
  })

  test('none runs as root or can write to its image', () => {
    expect(pods.map(({ file }) => file).sort()).toEqual(['base/cron-job.yaml', 'watch/deployment.yaml'])
    for (const { file, pod } of pods) {
      expect(pod, file).toMatchObject({
        serviceAccountName: 'waypost',
        securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'hostUsers'])
        expect(pod, file).not.toHaveProperty(field)
      for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
        expect(container, file).toMatchObject({
          image: 'waypost',
          resources: {
            requests: { cpu: expect.any(String), memory: expect.any(String) },
            limits: { cpu: expect.any(String), memory: expect.any(String) },
          },
        })
        // Nothing more, such as a privilege or a user of its own.
        expect(container.securityContext, file).toEqual({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        })
      }
    }
  })

  test('syncs do not overlap, do not run for ever and are not tried for ever', () => {
    expect(objects.find(({ file }) => file === 'base/cron-job.yaml')?.spec).toMatchObject({
      schedule: '* * * * *',
      concurrencyPolicy: 'Forbid',
      jobTemplate: {
        spec: { backoffLimit: 1, activeDeadlineSeconds: 600, template: { spec: { restartPolicy: 'Never' } } },
      },
    })
  })

  test('the configuration that they mount is made by every overlay, and is not called as the Lease', () => {
    for (const { file, pod } of pods)
      expect(
        pod.volumes.map(({ configMap }) => configMap?.name),
        file,
      ).toEqual(['waypost-config'])
    for (const { folder, configMapGenerator = [] } of overlays)
      expect(configMapGenerator, folder).toEqual([{ name: 'waypost-config', files: ['waypost.yaml'] }])
  })
})

describe('overlays', () => {
  test.each(overlays)('$folder has a configuration that fits it', ({ folder, namespace, bases = [] }) => {
    const parsed = parseConfig(readFileSync(join(root, folder, 'waypost.yaml'), 'utf8'))
    if (parsed.kind === 'bad') throw new Error(JSON.stringify(parsed.problems))
    const { publish, watch, report } = parsed.config
    // Nothing that a pod writes to a folder stays.
    expect(publish.store).toMatch(/^(s3|azblob):/)
    // The role for it is in the namespace of the overlay.
    expect(watch.lease).toMatchObject({ name: 'waypost', namespace })
    expect(bases.includes('../../roles/events')).toBe(report.events)
  })

  test('all of them can be in one cluster', () => {
    for (const field of ['namespace', 'nameSuffix'] as const)
      expect(new Set(overlays.map((overlay) => overlay[field])).size, field).toBe(overlays.length)
  })
})
