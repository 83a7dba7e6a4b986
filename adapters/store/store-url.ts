import { fileURLToPath } from 'node:url'
import { OperationError } from '../../core/model/operation-error.ts'
import { quote } from '../../core/model/printable.ts'
import { isPath } from './key.ts'

export type StoreUrl =
  | { readonly scheme: 'file'; readonly path: string }
  | { readonly scheme: 'memory' }
  | {
      readonly scheme: 's3'
      readonly bucket: string
      readonly prefix: string
      readonly endpoint?: string
      readonly region?: string
    }
  | { readonly scheme: 'r2'; readonly binding: string; readonly prefix: string }
  | {
      readonly scheme: 'azblob'
      readonly account: string
      readonly container: string
      readonly prefix: string
      readonly endpoint?: string
    }

const FORMS =
  'Use file:PATH, memory:, s3://BUCKET/PREFIX?endpoint=URL&region=NAME, r2://BINDING/PREFIX or azblob://ACCOUNT/CONTAINER/PREFIX?endpoint=URL'

const invalid = (url: string, cause: string, fix = FORMS): OperationError =>
  new OperationError('StoreUrlInvalid', `The store URL ${quote(url)} is refused: ${cause}. ${fix}.`)

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

// User info, a signed URL, or a connection string that was put in the wrong place.
const CREDENTIAL = /\/\/[^/?#]*@|(?:key|sig|signature|secret|token|password|passwd|pwd|credential|auth)[^=&;?/]*=/i
const holdsCredential = (url: string): boolean => [url, decoded(url)].some((text) => CREDENTIAL.test(text))

const parametersOf = (url: string, query: string, allowed: readonly string[]): ReadonlyMap<string, string> => {
  const parameters = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (!allowed.includes(name))
      throw invalid(
        url,
        `it has the parameter ${quote(name)}`,
        allowed.length === 0 ? 'It takes none' : `It takes ${allowed.join(' and ')}`,
      )
    if (parameters.has(name) || value === '') throw invalid(url, `it needs one value for ${name}`)
    parameters.set(name, value)
  }
  return parameters
}

const endpointOf = (url: string, parameters: ReadonlyMap<string, string>): { readonly endpoint?: string } => {
  const text = parameters.get('endpoint')
  if (text === undefined) return {}
  const endpoint = URL.parse(text)
  if (endpoint === null || !/^https?:$/.test(endpoint.protocol) || endpoint.search !== '' || endpoint.hash !== '')
    throw invalid(url, 'its endpoint is no address', 'Use endpoint=https://HOST, with a port or a path where needed')
  return { endpoint: text.replace(/\/+$/, '') }
}

/** `file:PATH` takes a path as it is; `file:///PATH` is the URL of one. */
const parseFile = (url: string): StoreUrl => {
  if (/[?#]/.test(url)) throw invalid(url, 'a folder takes no parameters', 'Use file:PATH')
  const path = url.slice('file:'.length)
  if (path === '') throw invalid(url, 'it names no folder', 'Use file:PATH')
  if (!path.startsWith('//')) return { scheme: 'file', path }
  try {
    return { scheme: 'file', path: fileURLToPath(url) }
  } catch {
    throw invalid(url, 'it names another host', 'Use file:PATH or file:///PATH')
  }
}

const named = (url: string, what: string, text: string | undefined): string => {
  if (text === undefined || text === '') throw invalid(url, `it names no ${what}`)
  if (text.includes('/') || !isPath(text)) throw invalid(url, `${quote(text)} cannot be the name of a ${what}`)
  return text
}

/** Read by hand: a URL parser would follow `..` out of the prefix before anyone could refuse it. */
export const parseStoreUrl = (url: string): StoreUrl => {
  if (holdsCredential(url))
    throw new OperationError(
      'StoreUrlInvalid',
      'The store URL holds what looks like a credential, so it is refused and not repeated here. Put credentials into the environment, and revoke this one if others saw it.',
    )
  if (url.startsWith('file:')) return parseFile(url)
  if (url === 'memory:') return { scheme: 'memory' }
  const [, scheme = '', place = '', query = ''] = /^(s3|r2|azblob):\/\/([^?#]*)(?:\?([^#]*))?$/.exec(url) ?? []
  if (scheme === '') throw invalid(url, 'it is none that Waypost knows')
  const [first, ...rest] = place.replace(/\/$/, '').split('/')
  const second = scheme === 'azblob' ? rest.shift() : undefined
  const prefix = rest.join('/')
  if (rest.length > 0 && !isPath(prefix))
    throw invalid(
      url,
      `the prefix ${quote(prefix)} has a segment that is empty, ".", ".." or has other characters than letters, digits, ".", "_" and "-"`,
    )
  if (scheme === 'r2') {
    parametersOf(url, query, [])
    return { scheme, binding: named(url, 'binding', first), prefix }
  }
  if (scheme === 'azblob') {
    const parameters = parametersOf(url, query, ['endpoint'])
    const account = named(url, 'account', first)
    return { scheme, account, container: named(url, 'container', second), prefix, ...endpointOf(url, parameters) }
  }
  const parameters = parametersOf(url, query, ['endpoint', 'region'])
  const region = parameters.get('region')
  return {
    scheme: 's3',
    bucket: named(url, 'bucket', first),
    prefix,
    ...endpointOf(url, parameters),
    ...(region === undefined ? {} : { region: named(url, 'region', region) }),
  }
}
