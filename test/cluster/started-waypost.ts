import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'vitest'
import { leash } from '../daemon.ts'

const entry = new URL('../../functions/entry/cli.ts', import.meta.url).pathname

export type StartedWaypost = {
  readonly child: ChildProcess
  /** All that it printed, errors too, a line each. */
  readonly lines: () => readonly string[]
  readonly errors: () => string
  readonly isRunning: () => boolean
  /** Its exit code; of one that was killed, the signal. */
  readonly ended: () => Promise<number | string | null>
}

/** The command in a process of its own, as a pod runs it. It ends with the test at the latest. */
export const startWaypost = (
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): StartedWaypost => {
  const [file = '', ...rest] = [...leash(), process.execPath, entry, ...args]
  const child = spawn(file, rest, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const closed = once(child, 'close')
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  return {
    child,
    lines: () => `${output}${errors}`.split('\n'),
    errors: () => errors,
    isRunning,
    ended: async () => {
      await closed
      return child.signalCode ?? child.exitCode
    },
  }
}
