import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isPointer, type Pointer } from '../../core/model/publication.ts'
import { isReport, type Report } from '../../functions/publication/report.ts'
import type { createWaypost } from './waypost.ts'

type Waypost = Pick<ReturnType<typeof createWaypost>, 'store' | 'entries' | 'start'>

/** How soon a change shows under `watch`. */
export const SOON = { timeout: 5_000, interval: 50 }

/** As Node has it: `undefined` until there is one. */
const readObject = (store: string, key: string): unknown => {
  try {
    return JSON.parse(readFileSync(join(store.slice('file:'.length), key), 'utf8'))
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
    throw thrown
  }
}

export const pointerIn = ({ store }: Pick<Waypost, 'store'>): Pointer | undefined => {
  const value = readObject(store, 'default/current.json')
  return isPointer(value) ? value : undefined
}

export const reportIn = ({ store }: Pick<Waypost, 'store'>): Report | undefined => {
  const value = readObject(store, 'default/report.json')
  return isReport(value) ? value : undefined
}

/** The descriptions of what is published, by the last part of the name; undefined before the first publication. */
export const described = async (waypost: Waypost): Promise<Readonly<Record<string, string>> | undefined> => {
  if (pointerIn(waypost) === undefined) return undefined
  const entries = await waypost.entries()
  return Object.fromEntries(entries.map(({ server }) => [server.name.split('.').at(-1), server.description]))
}

/** The URLs that are published. */
export const published = async (waypost: Waypost): Promise<readonly string[] | undefined> => {
  if (pointerIn(waypost) === undefined) return undefined
  return (await waypost.entries()).flatMap(({ server }) => (server.remotes ?? []).map(({ url }) => url)).sort()
}

/** Runs `watch` while something is done, and gives its exit code and what it said. */
export const whileWatching = async (
  waypost: Waypost,
  act: (said: { readonly output: string; readonly errors: string }) => Promise<void>,
): Promise<{ readonly code: number; readonly output: string; readonly errors: string }> => {
  const stop = new AbortController()
  const { said, exit } = waypost.start(['watch'], stop.signal)
  try {
    await act(said)
  } finally {
    stop.abort()
    await exit
  }
  return { code: await exit, ...said }
}

/** Looks all the time while something is done, and gives each different thing that was seen, in order. */
export const seenWhile = async <T>(look: () => Promise<T>, act: () => Promise<void>): Promise<readonly T[]> => {
  const seen = new Map<string, T>()
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      const found = await look()
      seen.set(JSON.stringify(found), found)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  try {
    await act()
  } finally {
    isOver = true
    await looking
  }
  return [...seen.values()]
}
