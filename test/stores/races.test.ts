import { randomUUID } from 'node:crypto'
import { describeRaces } from '../races.ts'
import { startedStores } from './started-stores.ts'

for (const { name, open } of startedStores()) {
  const openPlace = async () => {
    const prefix = randomUUID()
    return () => open(prefix)
  }
  describeRaces(name, openPlace, 50)
}
