import { matchesHost } from '../../model/host-pattern.ts'
import { printable } from '../../model/printable.ts'
import { type Obstacle, obstacle, type Step, stopped } from './diagnostic.ts'

const HOSTNAME = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Would a client take this name for what it is? `0x7f.1` is an address to it, and a broken `xn--` nothing at all. */
const isPlainName = (name: string): boolean => {
  // Only a last label that begins with a digit, or an encoded one, is not what it seems.
  if (!/(^|\.)\d[^.]*$|(^|\.)xn--/.test(name)) return true
  return !/^[\d.]+$/.test(name) && URL.parse(`http://${name}/`)?.hostname === name
}

export const isHostname = (text: string): boolean =>
  text.length <= 253 && HOSTNAME.test(text) && isPlainName(text.replace(/^\*\./, ''))

/** The more specific of the two, if they have anything in common. */
const intersect = (a: string, b: string): string | undefined => {
  if (matchesHost(a, b)) return b
  return matchesHost(b, a) ? a : undefined
}

/** Every pattern that a host could match, the most specific first. */
export const patternsOf = (host: string): readonly string[] => {
  const labels = host.split('.')
  return [host, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`), '']
}

export type CommonHost = { readonly own: string; readonly common: string }

/** What the hostname of a listener and those of a route have in common; no hostname means any. */
export const intersectHosts = (listenerHost: string, routeHosts: readonly string[], at: string): Step<CommonHost> => {
  if (listenerHost !== '' && !isHostname(listenerHost))
    return stopped(obstacle('listener', 'InvalidHostname', at, printable(listenerHost)))
  const obstacles: Obstacle[] = []
  const found: CommonHost[] = []
  const own = routeHosts.length === 0 ? [''] : [...new Set(routeHosts.map((host) => host.toLowerCase()))]
  const valid = own.filter((host) => {
    const isValid = host === '' ? routeHosts.length === 0 : isHostname(host)
    if (!isValid) obstacles.push(obstacle('listener', 'InvalidHostname', 'hostnames', printable(host)))
    return isValid
  })
  for (const host of valid) {
    const common = intersect(listenerHost, host)
    if (common !== undefined) found.push({ own: host, common })
  }
  if (found.length === 0 && valid.length > 0)
    obstacles.push(obstacle('listener', 'HostnameNotMatched', at, printable(listenerHost)))
  return { found, obstacles, warnings: [] }
}
