import * as z from 'zod'
import {
  GATEWAY_GROUP,
  type Gateway,
  type GatewayClass,
  type GroupKind,
  type Listener,
  type ListenerSet,
  type ListenerStatus,
  type Namespace,
  type NamespacePolicy,
  type ReferenceGrant,
  type Service,
} from './gateway.ts'
import { clusterMetaOf, count, labelSelector, metadata, metaOf, selectorOf, text } from './parse-metadata.ts'
import { conditions, conditionsOf } from './parse-route.ts'

const groupKinds = z.array(z.object({ group: text, kind: z.string() })).nullish()
const groupKindsOf = (given: z.infer<typeof groupKinds>): readonly GroupKind[] =>
  (given ?? []).map(({ group, kind }) => ({ group: group ?? GATEWAY_GROUP, kind }))

const namespaces = z.object({ from: text, selector: labelSelector.nullish() }).nullish()
const policyOf = (given: z.infer<typeof namespaces>, from: string): NamespacePolicy => ({
  from: given?.from ?? from,
  selector: given?.selector == null ? undefined : selectorOf(given.selector),
})

const listeners = z
  .array(
    z.object({
      name: text,
      hostname: text,
      port: z.int().min(1).max(65535),
      protocol: text,
      tls: z.object({ mode: text }).nullish(),
      allowedRoutes: z.object({ namespaces, kinds: groupKinds }).nullish(),
    }),
  )
  .nullish()

const listenersOf = (given: z.infer<typeof listeners>): readonly Listener[] =>
  (given ?? []).map(({ name, hostname, port, protocol, tls, allowedRoutes }) => ({
    name: name ?? '',
    hostname: (hostname ?? '').toLowerCase(),
    port,
    protocol: protocol ?? '',
    tlsMode: tls?.mode ?? 'Terminate',
    kinds: groupKindsOf(allowedRoutes?.kinds),
    namespaces: policyOf(allowedRoutes?.namespaces, 'Same'),
  }))

const listenerStatus = z.array(z.object({ name: z.string(), conditions, supportedKinds: groupKinds })).nullish()
const listenerStatusOf = (given: z.infer<typeof listenerStatus>): ReadonlyMap<string, ListenerStatus> =>
  new Map(
    (given ?? []).map(({ name, conditions: own, supportedKinds }) => [
      name,
      {
        conditions: conditionsOf(own),
        supportedKinds: supportedKinds == null ? undefined : groupKindsOf(supportedKinds),
      },
    ]),
  )

const clientValidation = z.object({ validation: z.object({ mode: text }).nullish() }).nullish()
const demandsCertificate = (given: z.infer<typeof clientValidation>): boolean =>
  given?.validation != null && given.validation.mode !== 'AllowInsecureFallback'

export const gateway = z.object({
  metadata,
  spec: z
    .object({
      gatewayClassName: text,
      listeners,
      defaultScope: text,
      allowedListeners: z.object({ namespaces }).nullish(),
      tls: z
        .object({
          frontend: z
            .object({
              default: clientValidation,
              perPort: z.array(z.object({ port: z.number(), tls: clientValidation })).nullish(),
            })
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
  status: z
    .object({
      addresses: z.array(z.object({ type: text, value: z.string() })).nullish(),
      conditions,
      listeners: listenerStatus,
    })
    .nullish(),
})

export const gatewayOf = ({ metadata, spec, status }: z.infer<typeof gateway>): Gateway => {
  const frontend = spec?.tls?.frontend
  return {
    kind: 'Gateway',
    meta: metaOf(metadata),
    className: spec?.gatewayClassName ?? '',
    isDefault: spec?.defaultScope === 'All',
    listeners: listenersOf(spec?.listeners),
    allowedListeners: policyOf(spec?.allowedListeners?.namespaces, 'None'),
    clientCertificates: {
      everywhere: demandsCertificate(frontend?.default),
      ports: new Map((frontend?.perPort ?? []).map(({ port, tls }) => [port, demandsCertificate(tls)])),
    },
    addresses: (status?.addresses ?? []).map(({ type, value }) => ({ type: type ?? undefined, value })),
    conditions: conditionsOf(status?.conditions),
    listenerStatus: listenerStatusOf(status?.listeners),
    hasStatus: status != null,
  }
}

export const listenerSet = z.object({
  metadata,
  spec: z.object({ parentRef: z.object({ group: text, kind: text, namespace: text, name: z.string() }), listeners }),
  status: z.object({ conditions, listeners: listenerStatus }).nullish(),
})

export const listenerSetOf = ({ metadata, spec, status }: z.infer<typeof listenerSet>): ListenerSet => {
  const meta = metaOf(metadata)
  const { group, kind, namespace, name } = spec.parentRef
  return {
    kind: 'ListenerSet',
    meta,
    parent: { group: group ?? GATEWAY_GROUP, kind: kind ?? 'Gateway', namespace: namespace ?? meta.namespace, name },
    listeners: listenersOf(spec.listeners),
    conditions: conditionsOf(status?.conditions),
    listenerStatus: listenerStatusOf(status?.listeners),
    hasStatus: status != null,
  }
}

export const gatewayClass = z.object({ metadata, spec: z.object({ controllerName: text }).nullish() })
export const gatewayClassOf = ({ metadata, spec }: z.infer<typeof gatewayClass>): GatewayClass => ({
  kind: 'GatewayClass',
  meta: clusterMetaOf(metadata),
  controllerName: spec?.controllerName ?? '',
})

export const referenceGrant = z.object({
  metadata,
  spec: z
    .object({
      from: z.array(z.object({ group: z.string(), kind: z.string(), namespace: z.string() })).nullish(),
      to: z.array(z.object({ group: z.string(), kind: z.string(), name: text })).nullish(),
    })
    .nullish(),
})
export const referenceGrantOf = ({ metadata, spec }: z.infer<typeof referenceGrant>): ReferenceGrant => ({
  kind: 'ReferenceGrant',
  meta: metaOf(metadata),
  from: spec?.from ?? [],
  to: (spec?.to ?? []).map(({ group, kind, name }) => ({ group, kind, name: name || undefined })),
})

const owners = z
  .array(
    z.object({
      apiVersion: z.string(),
      kind: z.string(),
      name: z.string(),
      uid: text,
      controller: z.boolean().nullish(),
    }),
  )
  .nullish()

export const service = z.object({
  metadata: metadata.extend({ ownerReferences: owners }),
  spec: z.object({ type: text, ports: z.array(z.object({ port: count })).nullish() }).nullish(),
})
export const serviceOf = ({ metadata, spec }: z.infer<typeof service>): Service => ({
  kind: 'Service',
  meta: metaOf(metadata),
  type: spec?.type ?? 'ClusterIP',
  ports: (spec?.ports ?? []).flatMap(({ port }) => (port == null ? [] : [port])),
  owners: (metadata.ownerReferences ?? []).map(({ apiVersion, kind, name, uid, controller }) => ({
    apiVersion,
    kind,
    name,
    uid: uid || undefined,
    controller: controller === true,
  })),
})

export const namespace = z.object({ metadata })
/** The API server sets this label on every Namespace; files may lack it. */
export const namespaceOf = ({ metadata }: z.infer<typeof namespace>): Namespace => {
  const meta = clusterMetaOf(metadata)
  return {
    kind: 'Namespace',
    meta: { ...meta, labels: new Map([...meta.labels, ['kubernetes.io/metadata.name', meta.name]]) },
  }
}
