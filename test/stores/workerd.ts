import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leash } from '../daemon.ts'
import type { StartedServer } from './provided.ts'

// Cloudflare's own runtime, with its local R2: once through the binding of a Worker, once through its S3 interface.

const BUCKET = 'waypost-contract'
const COMPATIBLE = '2026-10-01'

/** Wrangler starts workerd itself, and leaves it behind when it is killed. */
const leashWorkerd = (folder: string): void => {
  const require = createRequire(createRequire(import.meta.url).resolve('wrangler'))
  const { default: workerd }: { default: string } = require('workerd')
  const script = join(folder, 'workerd')
  writeFileSync(script, `#!/bin/sh\nexec ${leash().join(' ')} '${workerd}' "$@"\n`, { mode: 0o755 })
  process.env.MINIFLARE_WORKERD_PATH = script
}

export const startWorkerd = async (): Promise<StartedServer> => {
  // Neither tells anyone about this run, nor asks the network for what is not needed.
  process.env.WRANGLER_SEND_METRICS = 'false'
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false'
  const keys = { accessKeyId: randomBytes(16).toString('hex'), secretAccessKey: randomBytes(32).toString('hex') }
  // What it builds goes there, and not into the project.
  const state = mkdtempSync(join(tmpdir(), 'waypost-workerd-'))
  leashWorkerd(state)
  const { createTestHarness } = await import('wrangler')
  const server = createTestHarness({
    root: state,
    workers: [
      {
        config: {
          name: 'waypost-r2',
          main: new URL('r2-worker.ts', import.meta.url).pathname,
          compatibility_date: COMPATIBLE,
          r2_buckets: [{ binding: 'BUCKET', bucket_name: BUCKET, local_dev: { experimental_s3_credentials: keys } }],
        },
      },
    ],
  })
  const { url } = await server.listen()
  const endpoint = `${url.origin}/cdn-cgi/local/r2/s3`
  const environment = { AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey }
  return {
    stores: [
      { name: 'S3 on R2', base: `s3://${BUCKET}`, query: `?endpoint=${encodeURIComponent(endpoint)}`, environment },
      { name: 'R2 binding', base: url.origin, query: '', environment: {} },
    ],
    stop: async () => {
      await server.close()
      rmSync(state, { recursive: true, force: true })
    },
  }
}
