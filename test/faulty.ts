import type { Bytes } from '../core/model/bytes.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { BlobStore, StoredObject } from '../core/ports.ts'

/** What can become of the answer to a read. */
export type Fault =
  | { readonly kind: 'slow' | 'away' | 'truncated' | 'page' | 'lost' }
  | { readonly kind: 'flaky'; readonly seed: number }
  | { readonly kind: 'flipped'; readonly seed: number }
  /** An earlier version of the object, as a store gives it that is behind itself. */
  | { readonly kind: 'old'; readonly objects: ReadonlyMap<string, StoredObject> }

const PAGE = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

/** Numbers from 0 to 1, the same for the same seed. */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const flip = (bytes: Bytes, random: number): Bytes => {
  const flipped = bytes.slice()
  const bit = Math.floor(random * bytes.length * 8)
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return flipped
}

const damage = (fault: Fault, bytes: Bytes, random: () => number): Bytes => {
  if (fault.kind === 'truncated') return bytes.slice(0, Math.floor(bytes.length / 2))
  if (fault.kind === 'page') return new TextEncoder().encode(PAGE)
  return fault.kind === 'flipped' ? flip(bytes, random()) : bytes
}

/** Reads go wrong where `faultOf` says so; it is asked anew for every read. */
export const faulty = (store: BlobStore, faultOf: (key: string) => Fault | undefined): BlobStore => {
  const randoms = new Map<Fault, () => number>()
  return {
    ...store,
    read: async (key, known) => {
      const fault = faultOf(key)
      if (fault === undefined) return store.read(key, known)
      const random = randoms.get(fault) ?? seeded('seed' in fault ? fault.seed : 0)
      randoms.set(fault, random)
      if (fault.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, 5))
      if (fault.kind === 'away' || (fault.kind === 'flaky' && random() < 0.5))
        throw new OperationError('StoreAway', 'Cannot read the store: the connection broke. Try again.')
      if (fault.kind === 'lost') return { kind: 'absent' }
      if (fault.kind === 'old') {
        const object = fault.objects.get(key)
        if (object === undefined) return { kind: 'absent' }
        return object.etag === known ? { kind: 'unchanged' } : object
      }
      // Damage comes with an etag of its own: nobody has seen these bytes before.
      const isDamage = fault.kind === 'truncated' || fault.kind === 'page' || fault.kind === 'flipped'
      const answer = await store.read(key, isDamage ? undefined : known)
      if (answer.kind !== 'found' || !isDamage) return answer
      return { ...answer, bytes: damage(fault, answer.bytes, random), etag: `damaged ${random()}` }
    },
  }
}
