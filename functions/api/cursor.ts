import { isMap } from '../../core/model/is-map.ts'
import type { Position } from '../../core/serve/select-rows.ts'

/** The parameters of a list as they were given; a cursor carries them, since clients drop them on later pages. */
export type ListParameters = {
  readonly search?: string
  readonly version?: string
  readonly updated_since?: string
  readonly include_deleted?: string
}

export type Cursor = { readonly parameters: ListParameters; readonly after: Position }

export const PARAMETERS = ['search', 'version', 'updated_since', 'include_deleted'] as const

const toBase64Url = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const fromBase64Url = (text: string): string => {
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (unit) => unit.charCodeAt(0))
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/** URL-safe as it is: some clients append it without encoding it. */
export const encodeCursor = ({ parameters, after }: Cursor): string => toBase64Url(JSON.stringify([parameters, after]))

/** `undefined` where it is none of ours. */
export const decodeCursor = (text: string): Cursor | undefined => {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(fromBase64Url(text))
  } catch {
    return undefined
  }
  if (!Array.isArray(value) || value.length !== 2) return undefined
  const [parameters, after]: readonly unknown[] = value
  if (!isMap(parameters) || !isMap(after) || typeof after.name !== 'string' || typeof after.version !== 'string')
    return undefined
  const known: Record<string, string> = {}
  for (const [name, given] of Object.entries(parameters)) {
    if (!PARAMETERS.some((each) => each === name) || typeof given !== 'string') return undefined
    known[name] = given
  }
  return { parameters: known, after: { name: after.name, version: after.version } }
}
