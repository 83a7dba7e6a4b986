import { type ListQuery, type Position, wordsOf } from '../../core/serve/select-rows.ts'
import { type Cursor, decodeCursor, type ListParameters, PARAMETERS } from './cursor.ts'
import { type Problem, problem } from './problem.ts'

export type ListRequest = {
  readonly kind: 'list'
  readonly parameters: ListParameters
  readonly query: ListQuery
  readonly after: Position | undefined
  readonly limit: number
}

const DEFAULT_LIMIT = 30
const MOST = 100

/** As long as a name can be. Every word is looked for in every entry, and a cursor that carries them must fit into a URL. */
const LONGEST_SEARCH = 200
/** Each of them is looked for in all entries. */
const MOST_WORDS = 10

// As RFC 3339 has it: a date, a time, and where on earth it is meant.
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,30})?(Z|[+-]\d\d:\d\d)$/i

/** `Date.parse` takes the 30th of February for the 2nd of March. */
const isDay = (text: string): boolean => {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number)
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && text.slice(11, 13) !== '24'
}

const parseTime = (text: string): number | undefined => {
  const time = RFC_3339.test(text) && isDay(text) ? Date.parse(text.toUpperCase()) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** A parameter that is given twice means two things, and nobody knows which of them was meant. */
export const findRepeated = (search: URLSearchParams): Problem | undefined => {
  const names = [...search.keys()]
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  return repeated === undefined
    ? undefined
    : problem(400, 'ParameterRepeated', `A parameter was given more than once: ${repeated.slice(0, 40)}`)
}

export const parseIncludeDeleted = (text: string | null | undefined): boolean | Problem => {
  if (text === null || text === undefined || text === '' || text === 'false') return false
  return text === 'true' || problem(422, 'ParameterInvalid', 'include_deleted must be true or false')
}

const parseLimit = (text: string | null): number | Problem => {
  if (text === null) return DEFAULT_LIMIT
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= MOST
    ? limit
    : problem(422, 'ParameterInvalid', `limit must be a number from 1 to ${MOST}`)
}

/** A cursor's own query wins over parameters that are absent; others than its own are a mistake. */
const mergeCursor = (given: ListParameters, cursor: Cursor | undefined): ListParameters | Problem => {
  if (cursor === undefined) return given
  const other = PARAMETERS.find((name) => given[name] !== undefined && given[name] !== cursor.parameters[name])
  return other === undefined
    ? cursor.parameters
    : problem(
        400,
        'CursorMismatch',
        `${other} is not what it was when this cursor was given; leave it out, or begin anew`,
      )
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'problem'

/** What a request for a list asks for, or what is wrong with it. */
export const parseList = (search: URLSearchParams): ListRequest | Problem => {
  const repeated = findRepeated(search)
  if (repeated !== undefined) return repeated
  const limit = parseLimit(search.get('limit'))
  if (isProblem(limit)) return limit
  const cursorText = search.get('cursor') ?? ''
  const cursor = cursorText === '' ? undefined : decodeCursor(cursorText)
  if (cursorText !== '' && cursor === undefined)
    return problem(400, 'CursorInvalid', 'The cursor is not one that this registry gave; begin without it')
  const given: Record<string, string> = {}
  for (const name of PARAMETERS) {
    const value = search.get(name)
    if (value !== null && value !== '') given[name] = value
  }
  const parameters = mergeCursor(given, cursor)
  if (isProblem(parameters)) return parameters

  const { search: sought = '', updated_since: since, include_deleted: deleted, version } = parameters
  if (sought.length > LONGEST_SEARCH)
    return problem(422, 'ParameterInvalid', `search has at most ${LONGEST_SEARCH} characters`)
  const words = wordsOf(sought)
  if (words.length > MOST_WORDS) return problem(422, 'ParameterInvalid', `search has at most ${MOST_WORDS} words`)
  const updatedSince = since === undefined ? undefined : parseTime(since)
  if (since !== undefined && updatedSince === undefined)
    return problem(
      400,
      'ParameterInvalid',
      'Invalid updated_since format: expected RFC3339 timestamp (e.g., 2025-08-07T13:15:04.280Z)',
    )
  if (since !== undefined && deleted === 'false')
    return problem(400, 'ParameterInvalid', 'updated_since includes what was deleted; leave include_deleted out')
  const includesDeleted = parseIncludeDeleted(deleted)
  if (isProblem(includesDeleted)) return includesDeleted
  return {
    kind: 'list',
    parameters,
    query: {
      words,
      version,
      updatedSince,
      includesDeleted: includesDeleted || since !== undefined,
    },
    after: cursor?.after,
    limit,
  }
}
