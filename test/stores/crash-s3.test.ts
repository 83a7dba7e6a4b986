import { randomUUID } from 'node:crypto'
import { CRASHES } from '../crash/cases.ts'
import { describeCrashes } from '../crash.ts'
import { startedStores } from './started-stores.ts'

// The sync in which most happens, killed after each call that changes something; a folder, which is faster, goes
// through all syncs and all calls.
for (const { name, url, environment } of startedStores())
  if (name === 'S3 on Ceph' && url !== undefined)
    describeCrashes(name, {
      url: url(randomUUID()),
      environment,
      cases: CRASHES.slice(1, 2),
      isPoint: (call, when) => when === 'after' && /^(write|delete) /.test(call),
      moments: 10,
    })
