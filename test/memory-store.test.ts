import { openMemoryStore } from '../adapters/store/memory.ts'
import { describeStore } from './contract/store-contract.ts'

const objects = new Map()
describeStore('memory', { open: async (prefix) => openMemoryStore(objects, prefix), manyObjects: 300 })
