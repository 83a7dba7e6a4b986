import { describeStore } from '../contract/store-contract.ts'
import { startedStores } from './started-stores.ts'

for (const { name, open } of startedStores()) describeStore(name, { open, manyObjects: 2_100 })
