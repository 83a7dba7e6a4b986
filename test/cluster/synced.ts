import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../../functions/publication/report.ts'
import type { createWaypost } from './waypost.ts'

type Waypost = ReturnType<typeof createWaypost>

export type Reported = {
  readonly code: string
  readonly class: string
  readonly decisive?: true
  readonly message: string
  readonly fix: string
  readonly subject: { readonly kind: string; readonly namespace: string; readonly name: string }
  readonly kind?: string
}

export type SyncedOnce = Omit<Report, 'findings'> & { readonly exit: number; readonly findings: readonly Reported[] }

/** One sync, and what it reports of the first registry. */
export const syncOnce = async (waypost: Waypost, ...args: readonly string[]): Promise<SyncedOnce> => {
  const { code, output, errors } = await waypost.run('sync', '--json', ...args)
  if (output === '') throw new Error(`the sync said only: ${errors}`)
  const { registries }: { registries: { default: Omit<SyncedOnce, 'exit'> } } = JSON.parse(output)
  return { exit: code, ...registries.default }
}

/** What is to do first about one object that is not listed. */
export const decisive = (
  { findings }: Pick<SyncedOnce, 'findings'>,
  kind: string,
  place: { readonly namespace: string; readonly name: string },
): Pick<Reported, 'code' | 'class'> | undefined => {
  const found = findings.find(
    ({ subject, decisive }) =>
      decisive && subject.kind === kind && subject.namespace === place.namespace && subject.name === place.name,
  )
  return found && { code: found.code, class: found.class }
}

/** Which server is at which URL, of those whose names contain a text. */
export const listedUrls = async (waypost: Waypost, search = ''): Promise<readonly string[]> => {
  const entries = await waypost.entries(search === '' ? '' : `&search=${search}`)
  return entries.flatMap(({ server }) => (server.remotes ?? []).map(({ url }) => url)).sort()
}

/** The pointer itself: as long as these bytes are the same, nothing was published. */
export const pointerOf = ({ store }: Waypost): string =>
  readFileSync(join(store.slice('file:'.length), 'default', 'current.json'), 'utf8')
