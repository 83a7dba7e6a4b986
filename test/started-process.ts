import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

export const folderProcess: string = new URL('folder-process.ts', import.meta.url).pathname

export type Started = {
  readonly child: ChildProcess
  readonly lines: string[]
  readonly said: (line: string) => Promise<void>
}

export const start = (root: string, ...args: readonly string[]): Started => {
  const child = spawn(process.execPath, [folderProcess, root, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => lines.push(line))
  const said = async (line: string): Promise<void> => {
    while (!lines.includes(line)) {
      if (child.exitCode !== null) throw new Error(`it ended without saying ${line}: ${lines.join(' ')}`)
      await sleep(5)
    }
  }
  return { child, lines, said }
}

export const ended = async ({ child, lines }: Started): Promise<readonly string[]> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  return lines
}
