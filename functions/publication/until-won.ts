import { OperationError } from '../../core/model/operation-error.ts'

/** Every lost round is a round that somebody else has won, so a few dozen syncs at once are far below this. */
const MOST_ROUNDS = 100

/** Does again what a faster writer has made vain, on what is there then. */
export const untilWon = async <T>(what: string, attempt: (round: number) => Promise<T | 'lost'>): Promise<T> => {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const result = await attempt(round)
    if (result !== 'lost') return result
  }
  throw new OperationError(
    'TooManySyncs',
    `${what} was changed by other syncs ${MOST_ROUNDS} times in a row. Run fewer syncs at once, and try again.`,
  )
}
