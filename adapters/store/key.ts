import { OperationError } from '../../core/model/operation-error.ts'
import { quote } from '../../core/model/printable.ts'

const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/

// The folder store keeps its own files there. No store takes them, so that a publication can move between stores.
export const OWN_FOLDERS: readonly string[] = ['.tmp', '.locks']

/** Segments that name one thing in every store, and nothing outside of it. */
export const isPath = (text: string): boolean =>
  text.split('/').every((segment) => SEGMENT.test(segment) && !OWN_FOLDERS.includes(segment))

const refuse = (what: string, text: string): never => {
  throw new OperationError(
    'StoreKeyInvalid',
    `The ${what} ${quote(text)} is refused: it must be segments of letters, digits, ".", "_" and "-", joined by "/". Nothing was touched.`,
  )
}

/** The full name of an object; refused before anything is touched. */
export const keyBelow = (prefix: string, key: string): string => {
  if (!isPath(key)) refuse('key', key)
  return prefix === '' ? key : `${prefix}/${key}`
}

/** What the names of all objects below a folder begin with: it ends in `/`, so that `a` does not list `ab`. */
export const startOf = (prefix: string, folder: string): string => {
  const path = folder.endsWith('/') ? folder.slice(0, -1) : folder
  if (path === '') return prefix === '' ? '' : `${prefix}/`
  if (!isPath(path)) refuse('folder', folder)
  return `${keyBelow(prefix, path)}/`
}

/** The key of an object again, without the prefix. */
export const keyOf = (prefix: string, name: string): string => (prefix === '' ? name : name.slice(prefix.length + 1))
