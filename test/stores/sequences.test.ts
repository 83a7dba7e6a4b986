import { randomUUID } from 'node:crypto'
import { describeSequences } from '../sequences.ts'
import { startedStores } from './started-stores.ts'

for (const { name, open } of startedStores()) describeSequences(name, () => open(randomUUID()))
