import { randomUUID } from 'node:crypto'
import { describeRaces } from '../races.ts'
import { describeSequences } from '../sequences.ts'
import { startedStores } from './started-stores.ts'

// The sequences of a publication, and twenty syncs at once, on every store that there is.

for (const { name, open } of startedStores()) {
  describeSequences(name, () => open(randomUUID()))
  describeRaces(
    name,
    async () => {
      const prefix = randomUUID()
      return () => open(prefix)
    },
    50,
  )
}
