import semver from 'semver'
import { compareText } from '../model/order.ts'

/** By semver precedence; what is not semver comes after it, as text. */
export const compareVersions = (a: string, b: string): number => {
  const [left, right] = [semver.valid(a), semver.valid(b)]
  if (left !== null && right !== null) return semver.compare(left, right) || compareText(a, b)
  if (left === null && right === null) return compareText(a, b)
  return left === null ? 1 : -1
}

type Version = { readonly version: string; readonly status: string; readonly publishedAt: number }

const isNewer = (a: Version, b: Version): boolean => {
  if (a.status !== b.status) return a.status === 'active'
  const [left, right] = [semver.valid(a.version), semver.valid(b.version)]
  if ((left === null) !== (right === null)) return left !== null
  if (left === null && a.publishedAt !== b.publishedAt) return a.publishedAt > b.publishedAt
  return compareVersions(a.version, b.version) > 0
}

/**
 * The version that `latest` means: active before deleted, semver before the rest, then the highest; among those that are
 * not semver, the youngest. Where all are deleted one still is the latest, so that a reader who follows `latest` sees it go.
 */
export const latestOf = <V extends Version>(versions: readonly V[]): V | undefined =>
  versions.reduce<V | undefined>(
    (latest, each) => (latest === undefined || isNewer(each, latest) ? each : latest),
    undefined,
  )
