import type { Bytes } from '../../core/model/bytes.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { BlobStore } from '../../core/ports.ts'

/** The R2 store of r2-worker.ts, from outside. */
export const openR2OverHttp = (base: string, prefix: string): BlobStore => {
  const ask = async (method: string, query: Readonly<Record<string, string>>, body?: Bytes): Promise<Response> => {
    const url = `${base}/${method}?${new URLSearchParams({ prefix, ...query })}`
    const response = await fetch(url, body === undefined ? {} : { method: 'PUT', body })
    if (response.ok) return response
    const { code, message }: { code: string; message: string } = JSON.parse(await response.text())
    throw new OperationError(code, message)
  }
  return {
    async read(key, known) {
      const response = await ask('read', { key, ...(known === undefined ? {} : { etag: known }) })
      const etag = response.headers.get('x-etag')
      if (etag === null) return JSON.parse(await response.text())
      return { kind: 'found', bytes: new Uint8Array(await response.arrayBuffer()), etag }
    },
    async write(key, bytes, expected) {
      const condition = typeof expected === 'object' ? expected : { expected }
      return JSON.parse(await (await ask('write', { key, ...condition }, bytes)).text())
    },
    async list(folder) {
      return JSON.parse(await (await ask('list', { key: folder })).text())
    },
    async delete(key) {
      await ask('delete', { key })
    },
  }
}
