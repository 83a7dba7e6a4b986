import type { RouteMatch } from '../../model/gateway.ts'

/**
 * Who answers a plain request (no headers, no query) for a path: an exact path before a prefix, a longer prefix before a
 * shorter, a match with the method before one without, then the lower rank. Asking costs no more than the path is deep.
 */
export type PathTable<T> = {
  readonly add: (match: RouteMatch, value: T) => void
  readonly winner: (path: string, method: string) => T | undefined
}

export const withoutSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)

/** A path and every path above it, by whole elements: /a/b, /a, /. */
const prefixesOf = (path: string): readonly string[] => {
  const elements = withoutSlash(path).split('/').slice(1)
  if (elements[0] === '') return ['/']
  return [...elements.map((_, index) => `/${elements.slice(0, elements.length - index).join('/')}`), '/']
}

export const createPathTable = <T>(isBefore: (a: T, b: T) => boolean): PathTable<T> => {
  const slots = { Exact: new Map<string, Map<string, T>>(), PathPrefix: new Map<string, Map<string, T>>() }
  const choose = (slot: ReadonlyMap<string, T> | undefined, method: string): T | undefined =>
    slot?.get(method) ?? slot?.get('')
  return {
    add: ({ pathType, path, method = '', needsHeader, needsQueryParam }, value) => {
      if (needsHeader || needsQueryParam || (pathType !== 'Exact' && pathType !== 'PathPrefix')) return
      const key = pathType === 'Exact' ? path : withoutSlash(path)
      const slot = slots[pathType].get(key) ?? new Map<string, T>()
      const known = slot.get(method)
      if (known === undefined || isBefore(value, known)) slot.set(method, value)
      slots[pathType].set(key, slot)
    },
    winner: (path, method) => {
      const exact = choose(slots.Exact.get(path), method)
      if (exact !== undefined) return exact
      for (const prefix of prefixesOf(path)) {
        const value = choose(slots.PathPrefix.get(prefix), method)
        if (value !== undefined) return value
      }
      return undefined
    },
  }
}
