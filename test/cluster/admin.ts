import { Agent, request as httpsRequest } from 'node:https'

export type Credentials =
  | { readonly token: string }
  | { readonly certificate: string; readonly key: string }
  | Readonly<Record<never, never>>

export type KubeObject = {
  readonly metadata: {
    readonly name?: string
    readonly generateName?: string
    readonly namespace?: string
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

/** As the server keeps it. */
export type KeptObject = KubeObject & {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
}

export type Reference = { readonly name: string; readonly namespace?: string | undefined }

export type KubeAnswer = { readonly status: number; readonly text: string }

export type Admin = {
  /** Any answer of the server is an answer; of the others, all that is not a success is thrown. */
  request(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeAnswer>
  create(apiVersion: string, plural: string, object: KubeObject): Promise<KeptObject>
  /** Server-side, as the one who owns every field. */
  apply(apiVersion: string, plural: string, object: KubeObject & { metadata: Reference }): Promise<KeptObject>
  replace(apiVersion: string, plural: string, object: KubeObject & { metadata: Reference }): Promise<KeptObject>
  /** A merge patch: null removes a field, a list replaces a list. */
  patch(apiVersion: string, plural: string, reference: Reference, patch: object): Promise<KeptObject>
  patchStatus(apiVersion: string, plural: string, reference: Reference, status: object): Promise<KeptObject>
  remove(apiVersion: string, plural: string, reference: Reference): Promise<void>
  get(apiVersion: string, plural: string, reference: Reference): Promise<KeptObject | undefined>
  list(apiVersion: string, plural: string, namespace?: string): Promise<readonly KeptObject[]>
}

const MERGE_PATCH = 'application/merge-patch+json'

type Place = { readonly namespace?: string | undefined; readonly name?: string | undefined }

const pathOf = (apiVersion: string, plural: string, { namespace, name }: Place, subresource = ''): string =>
  [
    apiVersion.includes('/') ? '/apis' : '/api',
    apiVersion,
    namespace === undefined ? '' : `namespaces/${namespace}`,
    plural,
    name ?? '',
    subresource,
  ]
    .filter((part) => part !== '')
    .join('/')

/** That an object is not there names the object; that its kind is not served does not, and must not look the same. */
const isAbsent = ({ status, text }: KubeAnswer): boolean => {
  if (status !== 404 || !text.startsWith('{')) return false
  const { details }: { details?: { name?: string } } = JSON.parse(text)
  return details?.name !== undefined
}

/** A client for what tests do to a cluster, as its admin or as somebody else. Connections are kept. */
export const openAdmin = (cluster: { server: string; ca: string }, credentials: Credentials): Admin => {
  const [token, cert, key] = [
    'token' in credentials ? credentials.token : undefined,
    'certificate' in credentials ? credentials.certificate : undefined,
    'key' in credentials ? credentials.key : undefined,
  ]
  const agent = new Agent({ keepAlive: true, ca: cluster.ca, cert, key })

  const request: Admin['request'] = (method, path, body, contentType = 'application/json') =>
    new Promise((resolve, reject) => {
      const headers = {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': contentType }),
      }
      const call = httpsRequest(new URL(path, cluster.server), { method, agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.once('error', reject)
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      call.once('error', reject)
      call.end(body === undefined ? undefined : JSON.stringify(body))
    })

  const succeed = async (...call: Parameters<Admin['request']>): Promise<string> => {
    const { status, text } = await request(...call)
    if (status >= 300) throw new Error(`${call[0]} ${call[1]}: ${status} ${text.slice(0, 2_000)}`)
    return text
  }
  const keep = async (...call: Parameters<Admin['request']>): Promise<KeptObject> => JSON.parse(await succeed(...call))

  return {
    request,
    create: (apiVersion, plural, object) => {
      const { namespace } = object.metadata
      return keep('POST', pathOf(apiVersion, plural, { namespace }), { apiVersion, ...object })
    },
    apply: (apiVersion, plural, object) => {
      const path = `${pathOf(apiVersion, plural, object.metadata)}?fieldManager=test&force=true`
      return keep('PATCH', path, { apiVersion, ...object }, 'application/apply-patch+yaml')
    },
    replace: (apiVersion, plural, object) =>
      keep('PUT', pathOf(apiVersion, plural, object.metadata), { apiVersion, ...object }),
    patch: (apiVersion, plural, reference, change) =>
      keep('PATCH', pathOf(apiVersion, plural, reference), change, MERGE_PATCH),
    patchStatus: (apiVersion, plural, reference, status) =>
      keep('PATCH', pathOf(apiVersion, plural, reference, 'status'), { status }, MERGE_PATCH),
    remove: async (apiVersion, plural, reference) => {
      await succeed('DELETE', pathOf(apiVersion, plural, reference))
    },
    get: async (apiVersion, plural, reference) => {
      const path = pathOf(apiVersion, plural, reference)
      const answer = await request('GET', path)
      if (isAbsent(answer)) return undefined
      if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text.slice(0, 2_000)}`)
      return JSON.parse(answer.text)
    },
    // Without a limit the server sends all of them in one page.
    list: async (apiVersion, plural, namespace) => {
      const text = await succeed('GET', pathOf(apiVersion, plural, { namespace }))
      const { items }: { items: readonly KeptObject[] } = JSON.parse(text)
      return items
    },
  }
}
