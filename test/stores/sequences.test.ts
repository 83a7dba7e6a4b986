import { randomUUID } from 'node:crypto'
import { describeSequences } from '../sequences.ts'
import { startedStores } from './started-stores.ts'

// `npm test` has them on a folder and in memory. What stores could differ in, the contract and the races show on each.
for (const { name, open } of startedStores())
  if (name === 'S3 on Ceph') describeSequences(name, () => open(randomUUID()))
