import semver from 'semver'
import { isDeeperThan } from '../model/canonical-json.ts'
import { isHttpsUrl, isServerVersion, lengthOf, MAX_TEXT } from '../model/entry.ts'
import type { FindingDetail } from '../model/finding.ts'
import { isMap } from '../model/is-map.ts'
import { sortOf } from '../model/printable.ts'

/** A Kubernetes object carries at most this much in all of its annotations together. */
const MAX_ANNOTATION = 262_144
const MAX_JSON_DEPTH = 64
const TOOL_NAME = /^[\w-]{1,128}$/

/** Something with annotations: a resource, or a route that leads to it. */
export type Annotated = { readonly meta: { readonly annotations: ReadonlyMap<string, unknown> } }

/** What an annotation gave: a value or nothing, and what its owner should know. */
export type Field<T> = { readonly value: T | undefined; readonly findings: readonly FindingDetail[] }

const nothing = { value: undefined, findings: [] }
const bad = (annotation: string, problem: string): Field<never> => ({
  value: undefined,
  findings: [{ code: 'AnnotationInvalid', annotation, problem }],
})

/** An annotation's text: one line, without control characters. */
const readText = ({ meta }: Annotated, annotation: string): Field<string> => {
  const value = meta.annotations.get(annotation)
  if (value === undefined) return nothing
  if (typeof value !== 'string') return bad(annotation, `is ${sortOf(value)}, not a string: put it in quotes`)
  if (value.length > MAX_ANNOTATION) return bad(annotation, `is longer than ${MAX_ANNOTATION} characters`)
  const line = value.replace(/\s+/g, ' ').trim().toWellFormed()
  const text = line.replace(/\p{Cc}/gu, '')
  if (text === '') return nothing
  return text === line
    ? { value: text, findings: [] }
    : { value: text, findings: bad(annotation, 'contains control characters, which were removed').findings }
}

/** Reads a text and keeps it only if `read` takes it. */
const readAs = <T>(
  holder: Annotated,
  annotation: string,
  problem: string,
  read: (text: string) => T | undefined,
): Field<T> => {
  const { value: text, findings } = readText(holder, annotation)
  if (text === undefined) return { value: undefined, findings }
  const value = read(text)
  return value === undefined
    ? { value, findings: [...findings, ...bad(annotation, problem).findings] }
    : { value, findings }
}

const cutAtWord = (text: string): string => {
  const start = [...text.slice(0, 2 * MAX_TEXT)].slice(0, MAX_TEXT - 1).join('')
  const words = start.replace(/\s+\S*$/, '')
  // A text without a space near its end is cut where it must be.
  return `${words.length > start.length / 2 ? words : start}…`
}

export const readDescription = (holder: Annotated): Field<string> => {
  const { value: text, findings } = readText(holder, 'registry-description')
  const length = text === undefined ? 0 : lengthOf(text)
  if (text === undefined || length <= MAX_TEXT) return { value: text, findings }
  return { value: cutAtWord(text), findings: [...findings, { code: 'DescriptionTruncated', length }] }
}

export const readTitle = (holder: Annotated): Field<string> =>
  readAs(holder, 'registry-title', `is longer than ${MAX_TEXT} characters`, (text) =>
    lengthOf(text) <= MAX_TEXT ? text : undefined,
  )

export const readIcon = (holder: Annotated): Field<string> =>
  readAs(holder, 'registry-icon', 'is no https URL of at most 255 characters', (text) => {
    // Published as the parser writes it: the schema wants a URI, in which nothing is left to be escaped.
    const href = isHttpsUrl(text) ? URL.parse(text)?.href : undefined
    return href !== undefined && href.length <= 255 && !/[<>"`{}|\\^]/.test(href) ? href : undefined
  })

// The next two have the forms that ToolHive's schema demands: one value outside of it, and its clients refuse the whole registry.
const TIERS = new Map([
  ['official', 'Official'],
  ['community', 'Community'],
])
export const readTier = (holder: Annotated): Field<string> =>
  readAs(holder, 'registry-tier', 'is neither Official nor Community', (text) => TIERS.get(text.toLowerCase()))

export const readTags = (holder: Annotated): Field<readonly string[]> =>
  readAs(holder, 'registry-category', 'is no tag: lower-case letters, digits, - and _, at least two', (text) => {
    const tag = text.toLowerCase().replaceAll(' ', '-')
    return /^[a-z0-9][a-z0-9_-]{0,98}[a-z0-9]$/.test(tag) ? [tag] : undefined
  })

const imageVersion = (image: string | undefined): string | undefined => {
  // A colon before the last slash is a port, and what follows an @ is a digest.
  const tag = /:([^:/@]+)(?:@[^@]*)?$/.exec(image ?? '')?.[1]
  return tag !== undefined && semver.valid(tag) !== null && isServerVersion(tag) ? tag : undefined
}

/** `image` where its tag may say the version. */
export const readVersion = (holder: Annotated, image: string | undefined): Field<string> => {
  const problem = 'is no single version: neither latest nor a range, at most 255 characters'
  const { value, findings } = readAs(holder, 'registry-version', problem, (text) =>
    isServerVersion(text) ? text : undefined,
  )
  return { value: value ?? imageVersion(image) ?? '1.0.0', findings }
}

/** JSON in an annotation, bounded in length and depth. */
export const readJson = ({ meta }: Annotated, annotation: string): Field<unknown> => {
  const text = meta.annotations.get(annotation)
  if (text === undefined) return nothing
  if (typeof text !== 'string') return bad(annotation, `is ${sortOf(text)}, not a string of JSON`)
  if (text.length > MAX_ANNOTATION) return bad(annotation, `is longer than ${MAX_ANNOTATION} characters`)
  try {
    const value: unknown = JSON.parse(text)
    return isDeeperThan(value, MAX_JSON_DEPTH)
      ? bad(annotation, `is nested deeper than ${MAX_JSON_DEPTH} levels`)
      : { value, findings: [] }
  } catch {
    return bad(annotation, 'is not JSON')
  }
}

export const readTools = (holder: Annotated): Field<readonly string[]> => {
  const { value, findings } = readJson(holder, 'tools')
  if (value === undefined) return { value, findings }
  if (!Array.isArray(value)) return bad('tools', 'is not a JSON array of tool names')
  const good = value.filter((name) => typeof name === 'string' && TOOL_NAME.test(name))
  const left = value.length - good.length
  const leftOut =
    left === 0 ? [] : bad('tools', `has ${left} values that are no tool names, which were left out`).findings
  return { value: good.length === 0 ? undefined : [...new Set(good)], findings: leftOut }
}

const isTool = (tool: unknown): boolean =>
  isMap(tool) &&
  typeof tool.name === 'string' &&
  (tool.description === undefined || typeof tool.description === 'string') &&
  [tool.inputSchema, tool.annotations].every((part) => part === undefined || isMap(part))

export const readToolDefinitions = (holder: Annotated): Field<readonly unknown[]> => {
  const { value, findings } = readJson(holder, 'tool-definitions')
  if (value === undefined) return { value, findings }
  return Array.isArray(value) && value.every(isTool)
    ? { value, findings }
    : bad('tool-definitions', 'is not a JSON array of MCP tools')
}
