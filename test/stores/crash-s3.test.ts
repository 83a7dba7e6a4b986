import { randomUUID } from 'node:crypto'
import { describeCrashes } from '../crash.ts'
import { startedStores } from './started-stores.ts'

for (const { name, url, environment } of startedStores())
  if (name === 'S3 on Ceph' && url !== undefined) describeCrashes(name, { url: url(randomUUID()), environment })
