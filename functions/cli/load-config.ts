import { type Config, parseConfig } from '../config/config.ts'
import { CONFIG_VARIABLE } from '../config/environment.ts'
import { UsageError, type World } from './world.ts'

const DEFAULT_FILE = 'waypost.yaml'

type ConfigText = { readonly from: string; readonly text: string }

const readConfigText = async (path: string | undefined, world: World): Promise<ConfigText> => {
  if (path !== undefined) {
    const file = await world.readFile(path)
    if (file.kind === 'absent')
      throw new UsageError(`There is no file ${path}. Give --config a waypost.yaml, or leave it out for the defaults.`)
    return { from: path, text: file.text }
  }
  const variable = world.environment[CONFIG_VARIABLE]
  if (variable !== undefined && variable.trim() !== '') return { from: CONFIG_VARIABLE, text: variable }
  const file = await world.readFile(DEFAULT_FILE)
  return file.kind === 'found' ? { from: DEFAULT_FILE, text: file.text } : { from: 'the defaults', text: '' }
}

/** The configuration: `--config`, else the variable, else `waypost.yaml` here, else the defaults. */
export const loadConfig = async (
  path: string | undefined,
  world: World,
): Promise<{ readonly from: string; readonly config: Config }> => {
  const { from, text } = await readConfigText(path, world)
  const parsed = parseConfig(text, world.environment)
  if (parsed.kind === 'config') return { from, config: parsed.config }
  throw new UsageError(
    [
      `The configuration in ${from} is not valid:`,
      ...parsed.problems.map(({ setting, problem }) => `  ${setting}: ${problem}`),
    ].join('\n'),
  )
}
