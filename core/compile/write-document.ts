import { canonicalJson } from '../model/canonical-json.ts'
import { digestOf } from '../model/digest.ts'
import { type Entry, OFFICIAL, type RegistryDocument } from '../model/entry.ts'
import { compareBy, compareText } from '../model/order.ts'
import { RUNS, runOf } from '../model/publication.ts'
import type { EntryState } from '../model/state.ts'
import type { Dated } from './timeline.ts'
import { compareVersions } from './version-order.ts'

/** Three runs, each by name, then version. */
export const storedOrder = compareBy<EntryState>(
  (a, b) => RUNS.indexOf(runOf(a)) - RUNS.indexOf(runOf(b)),
  (a, b) => compareText(a.name, b.name),
  (a, b) => compareVersions(a.version, b.version),
)

const officialOf = ({ status, isLatest, publishedAt, updatedAt, statusChangedAt }: EntryState): string => {
  const time = (at: number): string => new Date(at).toISOString()
  const official = {
    status,
    isLatest,
    publishedAt: time(publishedAt),
    updatedAt: time(updatedAt),
    statusChangedAt: time(statusChangedAt),
  }
  return canonicalJson({ [OFFICIAL]: official })
}

/** The entries as they are served, and a digest of all of it: content is hashed already, so only that hash goes in. */
export const writeDocument = (registry: string, dated: readonly Dated[]): RegistryDocument => {
  const lines: string[] = []
  // Most entries of a registry share their times.
  const officials = new Map<string, string>()
  const entries = dated.map(({ state, server, json }): Entry => {
    const { name, version, status, isLatest, publishedAt, updatedAt, content } = state
    const key = [status, isLatest, state.publishedAt, state.updatedAt, state.statusChangedAt].join(' ')
    const official = officials.get(key) ?? officialOf(state)
    officials.set(key, official)
    lines.push(`${name} ${version} ${content} ${official}`)
    return {
      name,
      version,
      status,
      isLatest,
      publishedAt,
      updatedAt,
      server,
      json: `{"_meta":${official},"server":${json}}`,
    }
  })
  return { registry, entries, digest: digestOf(lines.join('\n')) }
}
