import { canonicalJson } from '../model/canonical-json.ts'
import { digestOf } from '../model/digest.ts'
import type { Server } from '../model/entry.ts'
import type { ResourceRef } from '../model/resource.ts'
import type { EntryState, RemoteState } from '../model/state.ts'
import { latestOf } from './version-order.ts'

/** A server version that is to be listed now. */
export type Listed = {
  readonly server: Server
  readonly json: string
  readonly owner: ResourceRef
  readonly wantedName: string
  readonly remotes: readonly RemoteState[]
}

/** An entry with its times; `json` is its server.json. */
export type Dated = { readonly state: EntryState; readonly server: Server; readonly json: string }

const keyOf = ({ name, version }: { readonly name: string; readonly version: string }): string => `${name} ${version}`

/** Equal content keeps all three times; coming back keeps the first. */
const date = (
  { server, json, owner, wantedName, remotes }: Listed,
  before: EntryState | undefined,
  at: number,
): EntryState => {
  const content = digestOf(json)
  const wasActive = before?.status === 'active'
  const isSame = wasActive && before.content === content
  return {
    name: server.name,
    version: server.version,
    owner,
    wantedName,
    status: 'active',
    isLatest: before?.isLatest ?? false,
    content,
    remotes,
    publishedAt: before?.publishedAt ?? at,
    updatedAt: isSame ? before.updatedAt : at,
    statusChangedAt: wasActive ? before.statusChangedAt : at,
  }
}

const bury = (before: EntryState, at: number): EntryState =>
  before.status === 'deleted'
    ? before
    : { ...before, status: 'deleted', content: '', remotes: [], updatedAt: at, statusChangedAt: at }

const tombstone = ({ name, version }: EntryState): Server => ({ name, version, description: 'Removed' })

/** Says of each entry which of its name is the latest; a change of that is a change of what is served. */
const markLatest = (dated: readonly Dated[], at: number): readonly Dated[] => {
  const byName = Map.groupBy(dated, ({ state }) => state.name)
  const latest = new Set([...byName.values()].map((versions) => latestOf(versions.map(({ state }) => state))))
  return dated.map((each) => {
    const isLatest = latest.has(each.state)
    if (each.state.isLatest === isLatest) return each
    return { ...each, state: { ...each.state, isLatest, updatedAt: at } }
  })
}

/** Joins what is listed now with what was: times go on, what is gone becomes a tombstone. */
export const continueTimeline = (
  listed: readonly Listed[],
  previous: readonly EntryState[],
  at: number,
): readonly Dated[] => {
  const before = new Map(previous.map((state) => [keyOf(state), state]))
  const active = listed.map(
    (each): Dated => ({ state: date(each, before.get(keyOf(each.server)), at), server: each.server, json: each.json }),
  )
  const listedKeys = new Set(active.map(({ state }) => keyOf(state)))
  const buried = previous
    .filter((state) => !listedKeys.has(keyOf(state)))
    .map((state) => bury(state, at))
    .map((state): Dated => ({ state, server: tombstone(state), json: canonicalJson(tombstone(state)) }))
  return markLatest([...active, ...buried], at)
}
