/**
 * The seam to an API server: a path below its address, answered as `fetch` would. What gets in (certificates, tokens,
 * proxies) is behind it. Where nothing answers, it throws.
 */
export type KubeFetch = (path: string, init?: KubeInit) => Promise<Response>

export type KubeInit = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** A way in, and what messages call it. */
export type Connection = { readonly fetch: KubeFetch; readonly server: string; readonly context: string }
