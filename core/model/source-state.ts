import { isMap } from './is-map.ts'
import { isDigest, type Time } from './publication.ts'

/** How much vanished from a read that looked whole. */
export type Shrink = { readonly lost: number; readonly active: number; readonly examples: readonly string[] }

/** `state.json` of a source: its last good result, and how the reads since have gone. */
export type SourceState = {
  /** When the newest read that counted began, good or not: an older one neither adds nor removes anything. */
  readonly seenAt: Time
  /** Absent where no read was ever good. */
  readonly good?: {
    readonly observedAt: Time
    readonly hash: string
    /** The kinds that were there. */
    readonly kinds: readonly string[]
    /** Digest of what the source was asked for: with another one, what is gone is not lost. */
    readonly selection: string
    readonly servers: number
  }
  /** Reads that failed or were refused since the last good one. */
  readonly attempts: number
  readonly problem?: string
  /** What vanished and was refused. */
  readonly losses?: readonly string[]
  readonly shrink?: Shrink
}

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string')

const isGood = (value: unknown): boolean =>
  isMap(value) &&
  typeof value.observedAt === 'string' &&
  isDigest(value.hash) &&
  isTexts(value.kinds) &&
  typeof value.selection === 'string' &&
  typeof value.servers === 'number'

export const isSourceState = (value: unknown): value is SourceState =>
  isMap(value) &&
  (value.good === undefined || isGood(value.good)) &&
  typeof value.seenAt === 'string' &&
  typeof value.attempts === 'number' &&
  (value.problem === undefined || typeof value.problem === 'string') &&
  (value.losses === undefined || isTexts(value.losses)) &&
  (value.shrink === undefined || (isMap(value.shrink) && isTexts(value.shrink.examples)))
