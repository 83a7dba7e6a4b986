import { type Columns, isDeleted, nameOf, versionOf } from '../model/columns.ts'
import { subjectKey } from '../model/resource.ts'
import type { RegistryState } from '../model/state.ts'

const ownersOf = ({ entries }: RegistryState): ReadonlyMap<string, string> =>
  new Map(
    entries
      .filter(({ status }) => status === 'active')
      .map(({ name, version, owner }) => [`${name} ${version}`, subjectKey(owner)]),
  )

/**
 * The entries of an earlier document that were withdrawn since: to bring them back would be against their owners. Who
 * has the name of one that is gone is not that one; `then` is what was remembered when the document was made.
 */
export const findWithdrawnSince = (
  earlier: Columns,
  now: RegistryState,
  then: RegistryState = now,
): readonly string[] => {
  const [owners, formerOwners] = [ownersOf(now), ownersOf(then)]
  const withdrawn: string[] = []
  for (let row = 0; row < earlier.count; row++) {
    const entry = `${nameOf(earlier, row)} ${versionOf(earlier, row)}`
    const owner = owners.get(entry)
    if (!isDeleted(earlier, row) && (owner === undefined || owner !== formerOwners.get(entry))) withdrawn.push(entry)
  }
  return withdrawn
}
