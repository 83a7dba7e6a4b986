import { isMap } from '../../core/model/is-map.ts'
import { nearest } from '../nearest.ts'
import type { ConfigProblem, JsonSchema } from './problems.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Settings = Readonly<Record<string, unknown>>
type Setting = { readonly section: string; readonly key: string; readonly type: JsonSchema['type'] | undefined }

export type Overrides = {
  readonly problems: readonly ConfigProblem[]
  readonly apply: (settings: Settings) => Settings
  /** The variable that a setting comes from. */
  readonly variableOf: (setting: string) => string | undefined
}

const PREFIX = 'WAYPOST_'
/** Holds the whole file as text, where there is no file system. */
export const CONFIG_VARIABLE = `${PREFIX}CONFIG`

/** Not settings: the file itself, and the kubeconfig. */
const OTHERS = [CONFIG_VARIABLE, `${PREFIX}KUBECONFIG`]

const upper = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()

/** Every setting of the form `section.key` with a single value, by its variable: WAYPOST_DISCOVERY_REQUIRE_READY. */
const settingsOf = (schema: JsonSchema): ReadonlyMap<string, Setting> => {
  const settings = new Map<string, Setting>()
  for (const [section, node] of Object.entries(schema.properties ?? {})) {
    for (const [key, setting] of Object.entries((typeof node === 'object' && node.properties) || {})) {
      const type = typeof setting === 'object' ? setting.type : undefined
      if (type !== 'object' && type !== 'array')
        settings.set(`${PREFIX}${upper(section)}_${upper(key)}`, { section, key, type })
    }
  }
  return settings
}

const readValue = (text: string, type: Setting['type']): unknown => {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return type === 'number' && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

/** Where a section is something else than a map, nothing is put into it: it is refused as it is. */
const override = (section: unknown, key: string, value: unknown): unknown =>
  section === undefined || isMap(section) ? { ...section, [key]: value } : section

/** Reads the `WAYPOST_*` variables. One that is no setting is refused: a misspelt one would silently do nothing. */
export const environmentOverrides = (environment: Environment, schema: JsonSchema): Overrides => {
  const known = settingsOf(schema)
  const given = Object.entries(environment).filter(
    ([name, value]) => name.startsWith(PREFIX) && !OTHERS.includes(name) && value !== undefined,
  )
  const problems = given
    .filter(([name]) => !known.has(name))
    .map(([name]): ConfigProblem => {
      const [meant] = nearest(name, [...known.keys(), ...OTHERS])
      return {
        setting: name,
        problem: `is not a variable of ours; ${meant === undefined ? 'unset it' : `did you mean ${meant}?`}`,
      }
    })
  const apply = (settings: Settings): Settings => {
    const result: Record<string, unknown> = { ...settings }
    for (const [name, text] of given) {
      const setting = known.get(name)
      if (setting === undefined || text === undefined) continue
      result[setting.section] = override(result[setting.section], setting.key, readValue(text, setting.type))
    }
    return result
  }
  const variables = new Map<string, string>()
  for (const [name] of given) {
    const setting = known.get(name)
    if (setting !== undefined) variables.set(`${setting.section}.${setting.key}`, name)
  }
  return { problems, apply, variableOf: (setting) => variables.get(setting) }
}
