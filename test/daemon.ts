import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type Daemon = { readonly name: string; readonly child: ChildProcess; readonly log: string }

/** Goes before a command, and lets it end with this process, however that ends: a killed run leaves no Ceph behind. */
export const leash = (): readonly string[] =>
  spawnSync('setpriv', ['--version']).status === 0 ? ['setpriv', '--pdeathsig', 'KILL', '--'] : []

export const startDaemon = (
  name: string,
  log: string,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Daemon => {
  const [file = '', ...args] = [...leash(), ...command]
  const output = openSync(log, 'w')
  const env = { ...process.env, ...environment }
  return { name, log, child: spawn(file, args, { cwd: dirname(log), env, stdio: ['ignore', output, output] }) }
}

export const stopDaemons = async (daemons: readonly Daemon[]): Promise<void> => {
  for (const { child } of [...daemons].reverse()) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode !== null || child.signalCode !== null) continue
    // All they hold is thrown away: nothing is gained by asking.
    child.kill('SIGKILL')
    await ended
  }
}

/** Waits for something to be so, or says which server ended, with its last words. */
export const until = async (
  what: string,
  daemons: readonly Daemon[],
  isSo: () => boolean | Promise<boolean>,
): Promise<void> => {
  const end = Date.now() + 60_000
  while (!(await isSo())) {
    const dead = daemons.find(({ child }) => child.exitCode !== null || child.signalCode !== null)
    if (dead === undefined && Date.now() < end) {
      await sleep(20)
      continue
    }
    const words = daemons.map(({ name, log }) => `${name}: ${readFileSync(log, 'utf8').slice(-800)}`).join('\n')
    throw new Error(`${what} did not happen${dead === undefined ? ' in 60 s' : `, ${dead.name} ended`}\n${words}`)
  }
}

export const answers = async (url: string): Promise<boolean> => {
  try {
    await (await fetch(url)).arrayBuffer()
    return true
  } catch {
    return false
  }
}

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
