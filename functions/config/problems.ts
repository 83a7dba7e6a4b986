import type * as z from 'zod'
import { quote } from '../../core/model/printable.ts'
import { nearest } from '../nearest.ts'

/** A setting that is wrong, where it stands, and what it may be. */
export type ConfigProblem = { readonly setting: string; readonly problem: string }

export type JsonSchema = z.core.JSONSchema.JSONSchema
type Node = z.core.JSONSchema._JSONSchema | undefined

type Path = readonly PropertyKey[]

const settingName = (path: Path): string =>
  path.reduce<string>(
    (name, part) =>
      typeof part === 'number' ? `${name}[${part}]` : name === '' ? String(part) : `${name}.${String(part)}`,
    '',
  )

/** What may stand in the map at `path`; a nullable one is a choice between itself and null. */
const keysAt = (schema: Node, path: Path): readonly string[] => {
  if (typeof schema !== 'object') return []
  const node = schema.anyOf?.find((each) => typeof each === 'object' && each.properties !== undefined) ?? schema
  if (typeof node !== 'object') return []
  const [first, ...rest] = path
  if (first === undefined) return Object.keys(node.properties ?? {})
  if (typeof first !== 'number') return keysAt(node.properties?.[String(first)], rest)
  return Array.isArray(node.items) ? [] : keysAt(node.items, rest)
}

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (part, key) => (typeof part === 'object' && part !== null ? Reflect.get(part, key) : undefined),
    value,
  )

const sayUnknown = (key: string, keys: readonly string[]): string => {
  const [meant] = nearest(key, keys)
  return `is not a setting; ${meant === undefined ? `here may be ${keys.join(', ')}` : `did you mean ${meant}?`}`
}

const say = (issue: z.core.$ZodIssue, value: unknown): string => {
  const given = value === undefined ? 'it is missing' : `it is ${quote(value)}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}; ${given}`
  if (issue.code === 'invalid_type')
    return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}; ${given}`
  if (issue.code === 'too_small' && issue.origin !== 'number') return 'must not be empty'
  return `${issue.message}; ${given}`
}

/** zod's issues as sentences about settings. */
export const configProblems = (error: z.ZodError, value: unknown, schema: JsonSchema): readonly ConfigProblem[] =>
  error.issues.flatMap((issue): readonly ConfigProblem[] => {
    if (issue.code !== 'unrecognized_keys')
      return [{ setting: settingName(issue.path) || 'the configuration', problem: say(issue, at(value, issue.path)) }]
    const keys = keysAt(schema, issue.path)
    return issue.keys.map((key) => ({ setting: settingName([...issue.path, key]), problem: sayUnknown(key, keys) }))
  })
