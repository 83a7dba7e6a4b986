import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMap } from '../../core/model/is-map.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { Leadership, LeaseOptions } from '../../core/ports.ts'
import { createKubeApi, type KubeAnswer, type KubeApi } from './kube-api.ts'
import type { Connection } from './kube-fetch.ts'

type Fields = Readonly<Record<string, unknown>>

const KIND = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }

/** As Kubernetes writes a MicroTime. */
const microTime = (): string => new Date().toISOString().replace('Z', '000Z')

const unusable = (answer: KubeAnswer, { name, namespace }: LeaseOptions): OperationError => {
  const lease = `the Lease ${namespace}/${name}, by which one of several replicas publishes`
  const otherwise = 'or set watch.lease: false where there is only one'
  const why = answer.kind === 'ok' ? '' : answer.message
  const problems: Partial<Record<KubeAnswer['kind'], string>> = {
    denied: `It may not use ${lease}. Add to its role in namespace ${namespace}: { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] }, ${otherwise}.`,
    absent: `There is no namespace ${namespace} for ${lease}. Create it, name another in watch.lease.namespace, ${otherwise}.`,
  }
  return new OperationError('LeaseUnusable', problems[answer.kind] ?? `It cannot write ${lease}: ${why}`)
}

/**
 * Gets and keeps a Lease, by the rules that all of Kubernetes uses: what counts is how long a holder was silent on our
 * own clock, since clocks differ. A holder that cannot renew stops before another may begin.
 */
export const lead = (
  connection: Connection,
  options: LeaseOptions,
  onChange: (isHeld: boolean) => void,
  onProblem: (text: string) => void,
): Leadership => {
  const { name, namespace, duration, renewDeadline, retryPeriod } = options
  const identity = `${hostname()}_${randomUUID()}`
  const root = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`
  const path = `${root}/${encodeURIComponent(name)}`
  const released = new AbortController()
  // A request that hangs must leave time for another before the lease is lost.
  const limits = { requestMs: renewDeadline / 2, attempts: 1, firstPauseMs: 0, longestPauseMs: 0 }
  const api = (): KubeApi => createKubeApi(connection, AbortSignal.timeout(renewDeadline), limits)
  let heldUntil = 0
  let wasHeld = false
  let seen = { version: '', at: 0 }
  let said = ''

  const isHeld = (): boolean => performance.now() < heldUntil

  const find = async (): Promise<{ readonly version: string; readonly spec: Fields } | undefined> => {
    const found = await api().get(path)
    if (found.kind === 'absent') return undefined
    if (found.kind !== 'ok') throw unusable(found, options)
    const { metadata, spec } = found.value
    const version = isMap(metadata) ? String(metadata.resourceVersion) : ''
    return { version, spec: isMap(spec) ? spec : {} }
  }

  const replace = (version: string, spec: Fields): Promise<KubeAnswer> =>
    api().send('PUT', path, { ...KIND, metadata: { name, namespace, resourceVersion: version }, spec })

  /** One try to get it or to keep it. */
  const attempt = async (): Promise<void> => {
    const asked = performance.now()
    const lease = await find()
    const { version = '', spec = {} } = lease ?? {}
    // From when the answer came: what it tells may be that young.
    if (version !== seen.version) seen = { version, at: performance.now() }
    const isOurs = spec.holderIdentity === identity
    const isSilent = asked - seen.at > Number(spec.leaseDurationSeconds ?? 0) * 1_000
    if (spec.holderIdentity && !isOurs && !isSilent) {
      heldUntil = 0
      return
    }
    const next = {
      ...spec,
      holderIdentity: identity,
      // Whole seconds; never shorter than we promise to be silent.
      leaseDurationSeconds: Math.ceil(duration / 1_000),
      renewTime: microTime(),
      acquireTime: isOurs ? spec.acquireTime : microTime(),
      leaseTransitions: Number(spec.leaseTransitions ?? 0) + (isOurs || lease === undefined ? 0 : 1),
    }
    const written =
      lease === undefined
        ? await api().send('POST', root, { ...KIND, metadata: { name, namespace }, spec: next })
        : await replace(version, next)
    if (written.kind === 'ok') heldUntil = asked + renewDeadline
    else if (written.kind !== 'conflict') throw unusable(written, options)
  }

  /** Said once: it is tried again every few seconds. */
  const say = (text: string): void => {
    if (text !== said && text !== '') onProblem(text)
    said = text
  }

  const run = async (): Promise<void> => {
    while (!released.signal.aborted) {
      try {
        await attempt()
        say('')
      } catch (thrown) {
        if (!(thrown instanceof OperationError)) throw thrown
        say(thrown.message)
      }
      if (isHeld() !== wasHeld) {
        wasHeld = !wasHeld
        onChange(wasHeld)
      }
      // Some jitter, so that replicas that start together do not ask together.
      const pause = retryPeriod * (0.8 + Math.random() * 0.4)
      await sleep(pause, undefined, { signal: released.signal, ref: false }).catch(() => {})
    }
  }
  const running = run()

  const giveBack = async (): Promise<void> => {
    const lease = await find()
    if (lease?.spec.holderIdentity !== identity) return
    const { holderIdentity: _, ...rest } = lease.spec
    await replace(lease.version, { ...rest, leaseDurationSeconds: 1, renewTime: microTime() })
  }

  return {
    isHeld,
    release: async () => {
      released.abort()
      await running
      const wasOurs = isHeld()
      heldUntil = 0
      try {
        if (wasOurs) await giveBack()
      } catch (thrown) {
        // Who waits sees it run out.
        if (!(thrown instanceof OperationError)) throw thrown
      }
    },
  }
}
