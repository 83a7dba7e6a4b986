import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { Leadership, LeaseOptions } from '../../core/ports.ts'
import { createKubeApi, type KubeAnswer } from './kube-api.ts'
import type { Connection } from './kube-fetch.ts'

type Fields = Readonly<Record<string, unknown>>

/** As Kubernetes writes a MicroTime. */
const microTime = (): string => new Date().toISOString().replace('Z', '000Z')

const explain = (answer: KubeAnswer, { name, namespace }: LeaseOptions): string => {
  const lease = `the Lease ${namespace}/${name}, by which one of several replicas publishes,`
  const why = answer.kind === 'ok' ? '' : answer.message
  if (answer.kind === 'denied')
    return `It may not use ${lease} Add to its role in namespace ${namespace}: { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] }, or set watch.lease: false where there is only one.`
  if (answer.kind === 'absent')
    return `There is no namespace ${namespace} for ${lease} Name another in watch.lease.namespace, or set watch.lease: false where there is only one.`
  return `${lease} cannot be written: ${why}`
}

/**
 * Gets and keeps a Lease, by the rules that all of Kubernetes uses: what counts is how long a holder was silent on our
 * own clock, since clocks differ. A holder that cannot renew stops before another may begin.
 */
export const lead = (
  connection: Connection,
  options: LeaseOptions,
  signal: AbortSignal,
  onChange: () => void,
  onProblem: (text: string) => void,
): Leadership => {
  const { name, namespace, duration, renewDeadline, retryPeriod } = options
  const identity = `${hostname()}_${randomUUID()}`
  const root = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`
  const path = `${root}/${encodeURIComponent(name)}`
  const end = new AbortController()
  const api = createKubeApi(connection, end.signal, {
    requestMs: renewDeadline,
    attempts: 1,
    firstPauseMs: 0,
    longestPauseMs: 0,
  })
  let heldUntil = 0
  let wasHeld = false
  let seen = { version: '', at: 0 }
  let said = ''

  const isHeld = (): boolean => performance.now() < heldUntil

  /** One try; true where the lease is ours now. */
  const attempt = async (): Promise<boolean> => {
    const asked = performance.now()
    const found = await api.get(path)
    const lease = found.kind === 'ok' ? found.value : undefined
    if (lease === undefined && found.kind !== 'absent')
      throw new OperationError('LeaseUnusable', explain(found, options))
    const spec: Fields = isMap(lease?.spec) ? lease.spec : {}
    const metadata: Fields = isMap(lease?.metadata) ? lease.metadata : {}
    const version = String(metadata.resourceVersion ?? '')
    const isOurs = spec.holderIdentity === identity
    if (version !== seen.version) seen = { version, at: asked }
    const isSilent = asked - seen.at > Number(spec.leaseDurationSeconds ?? 0) * 1_000
    if (lease !== undefined && !isOurs && spec.holderIdentity && !isSilent) return false
    const next = {
      ...spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.round(duration / 1_000)),
      renewTime: microTime(),
      acquireTime: isOurs ? spec.acquireTime : microTime(),
      leaseTransitions: Number(spec.leaseTransitions ?? 0) + (isOurs || lease === undefined ? 0 : 1),
    }
    const kinds = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
    const written =
      lease === undefined
        ? await api.send('POST', root, { ...kinds, metadata: { name, namespace }, spec: next })
        : await api.send('PUT', path, { ...kinds, metadata: { name, namespace, resourceVersion: version }, spec: next })
    if (written.kind === 'conflict') return false
    if (written.kind !== 'ok') throw new OperationError('LeaseUnusable', explain(written, options))
    heldUntil = asked + renewDeadline
    return true
  }

  const say = (text: string): void => {
    if (text !== said && text !== '') onProblem(text)
    said = text
  }

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await attempt()
        say('')
      } catch (thrown) {
        say(thrown instanceof Error ? thrown.message : String(thrown))
      }
      if (isHeld() !== wasHeld) {
        wasHeld = isHeld()
        onChange()
      }
      // Some jitter, so that replicas that start together do not ask together.
      await sleep(retryPeriod * (0.8 + Math.random() * 0.4), undefined, { signal }).catch(() => {})
    }
  }
  const running = run()

  const release = async (): Promise<void> => {
    await running
    const found = isHeld() ? await api.get(path).catch(() => undefined) : undefined
    heldUntil = 0
    if (found?.kind === 'ok' && isMap(found.value.spec) && found.value.spec.holderIdentity === identity)
      // Best effort: who waits sees it run out otherwise.
      await api
        .send('PUT', path, {
          ...found.value,
          spec: { ...found.value.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() },
        })
        .catch(() => {})
    end.abort()
  }
  return { isHeld, release }
}
