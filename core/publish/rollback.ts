import { type Columns, isDeleted, nameOf, versionOf } from '../model/columns.ts'
import type { RegistryState } from '../model/state.ts'

/** The entries of an earlier document that were withdrawn since: to bring them back would be against their owners. */
export const findWithdrawnSince = (earlier: Columns, now: RegistryState): readonly string[] => {
  const active = new Set(
    now.entries.filter(({ status }) => status === 'active').map(({ name, version }) => `${name} ${version}`),
  )
  const withdrawn: string[] = []
  for (let row = 0; row < earlier.count; row++) {
    const entry = `${nameOf(earlier, row)} ${versionOf(earlier, row)}`
    if (!isDeleted(earlier, row) && !active.has(entry)) withdrawn.push(entry)
  }
  return withdrawn
}
