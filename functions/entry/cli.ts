#!/usr/bin/env node
import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { createManifestReader } from '../../adapters/cluster/manifests.ts'
import { openStore } from '../../adapters/store/open-store.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import manifest from '../../package.json' with { type: 'json' }
import { run } from '../cli/program.ts'
import type { World } from '../cli/world.ts'
import { listen } from './node.ts'

/** While somebody waits to be stopped: a process that only waits for a cluster to come back would end by itself. */
let alive: NodeJS.Timeout | undefined

const world: World = {
  version: manifest.version,
  environment: process.env,
  now: Date.now,
  wait: async (milliseconds, signal) => {
    try {
      await setTimeout(milliseconds, undefined, { ref: false, ...(signal && { signal }) })
    } catch {
      // Woken up early.
    }
  },
  print: (text) => void process.stdout.write(text),
  printError: (text) => void process.stderr.write(text),
  readManifests: createManifestReader(process.stdin),
  readFile: async (path) => {
    try {
      return { kind: 'found', text: await readFile(path, 'utf8') }
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'absent' }
      throw new OperationError(
        'FileUnreadable',
        `Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}.`,
        { cause: error },
      )
    }
  },
  openCluster: async (access) => {
    // Loaded only here: the Kubernetes client takes half a second.
    const [{ connect }, { openCluster }] = await Promise.all([
      import('../../adapters/cluster/connect.ts'),
      import('../../adapters/cluster/open-cluster.ts'),
    ])
    return openCluster(connect(access, process.env))
  },
  stopped: () => {
    const controller = new AbortController()
    alive ??= setInterval(() => {}, 60_000)
    // `on`, not `once`: Ctrl-C reaches this process twice, from the terminal and through the launcher.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => controller.abort())
    return controller.signal
  },
  openStore: (url) => openStore(url, { environment: process.env }),
  ...(process.stderr.isTTY && { progress: (text: string) => void process.stderr.write(`${text}\n`) }),
  listen,
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`waypost needs Node 22.19 or later; this is ${process.versions.node}.\n`)
  process.exit(1)
}

// Who reads only the first lines closes the pipe; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// Left to end by itself, so that what was written to a pipe arrives whole.
process.exitCode = await run(process.argv.slice(2), world)
clearInterval(alive)
