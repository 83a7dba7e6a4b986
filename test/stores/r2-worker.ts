import { isBucket, openR2Store } from '../../adapters/store/r2.ts'
import type { BlobStore } from '../../core/ports.ts'

// The R2 store in the runtime it is made for, with its methods over HTTP. The other side is r2-over-http.ts.

const ask = async (store: BlobStore, method: string, url: URL, request: Request): Promise<Response> => {
  const key = url.searchParams.get('key') ?? ''
  const etag = url.searchParams.get('etag')
  switch (method) {
    case 'read': {
      const read = await store.read(key, etag ?? undefined)
      if (read.kind !== 'found') return Response.json(read)
      return new Response(read.bytes, { headers: { 'x-etag': read.etag } })
    }
    case 'write': {
      const bytes = new Uint8Array(await request.arrayBuffer())
      const expected = url.searchParams.get('expected') === 'absent' ? 'absent' : 'any'
      return Response.json(await store.write(key, bytes, etag === null ? expected : { etag }))
    }
    case 'list':
      return Response.json(await store.list(key))
    default:
      await store.delete(key)
      return Response.json({})
  }
}

export default {
  async fetch(request: Request, env: Readonly<Record<string, unknown>>): Promise<Response> {
    const url = new URL(request.url)
    if (!isBucket(env.BUCKET))
      return Response.json({ code: 'StoreFailed', message: 'there is no bucket' }, { status: 500 })
    const store = openR2Store(env.BUCKET, { binding: 'BUCKET', prefix: url.searchParams.get('prefix') ?? '' })
    try {
      return await ask(store, url.pathname.slice(1), url, request)
    } catch (thrown) {
      const { code = 'none', message = '' } =
        thrown instanceof Error ? { code: Reflect.get(thrown, 'code'), message: thrown.message } : {}
      return Response.json({ code, message }, { status: 500 })
    }
  },
}
