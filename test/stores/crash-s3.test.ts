import { randomUUID } from 'node:crypto'
import { CRASHES } from '../crash/cases.ts'
import { describeCrashes } from '../crash.ts'
import { startedStores } from './started-stores.ts'

// The sync in which most happens; a folder, which is faster, goes through all of them.
for (const { name, url, environment } of startedStores())
  if (name === 'S3 on Ceph' && url !== undefined)
    describeCrashes(name, { url: url(randomUUID()), environment, cases: CRASHES.slice(1, 2) })
