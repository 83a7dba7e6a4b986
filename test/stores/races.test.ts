import { randomUUID } from 'node:crypto'
import { describeRaces } from '../races.ts'
import { startedStores } from './started-stores.ts'

// Fewer where time matters more, as in CI.
const rounds = Number(process.env.WAYPOST_RACE_ROUNDS || 50)

for (const { name, open } of startedStores()) {
  const openPlace = async () => {
    const prefix = randomUUID()
    return () => open(prefix)
  }
  describeRaces(name, openPlace, rounds)
}
