import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Whose a lock or a file aside is. A pid means something only where it was given. */
export type Owner = { readonly host: string; readonly pid: number }

const pidSpace = (): string => {
  try {
    // Two containers can share a host's name, but not its pids.
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

const here = `${hostname()}-${pidSpace()}`.replace(/[^A-Za-z0-9.-]+/g, '-')

export const thisProcess = (): Owner => ({ host: here, pid: process.pid })

/** Whether its process is known to be gone; of another host nothing is known. */
export const isGone = ({ host, pid }: Owner): boolean => {
  if (host !== here) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (thrown) {
    // EPERM is a process of someone else: alive.
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH'
  }
}
