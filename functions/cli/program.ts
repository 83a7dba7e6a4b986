import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import * as z from 'zod'
import { inParallel } from '../../core/model/in-parallel.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import type { ReadAs } from '../../core/model/snapshot.ts'
import { type Compilation, compileSnapshots } from '../compile.ts'
import { configJsonSchema } from '../config/config.ts'
import { runDoctor } from './doctor-command.ts'
import { explain, parseTarget } from './explain.ts'
import { loadConfig } from './load-config.ts'
import { compilationJson, renderCompilation } from './render-compilation.ts'
import { runServe } from './serve-command.ts'
import { sourceReader } from './source-reader.ts'
import { approve, diff, history, rollback, status } from './store-commands.ts'
import { runSync } from './sync-command.ts'
import { runWatch } from './watch-command.ts'
import { UsageError, type World } from './world.ts'

type Reading = { readonly from?: string; readonly as: ReadAs; readonly config?: string; readonly at?: number }

const parsePort = (text: string): number => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65535 || text.trim() === '')
    throw new InvalidArgumentError('A port is a number from 0 to 65535; 0 takes any that is free.')
  return port
}

/** Beyond the year 9999 a date is written otherwise. */
const LATEST = Date.parse('9000-01-01T00:00:00Z')

const parseTime = (text: string): number => {
  const time = z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time) || time > LATEST)
    throw new InvalidArgumentError('A time is written like 2026-01-31T12:00:00Z.')
  return time
}

const parseSequence = (text: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new InvalidArgumentError('A publication is named by its number; waypost history lists them.')
  return Number(text)
}

const compileFrom = async (options: Reading, world: World): Promise<Compilation> => {
  const { config } = await loadConfig(options.config, world)
  const readings = await inParallel(config.sources, sourceReader(options.from, options.as, world))
  return compileSnapshots(config, readings, options.at ?? world.now())
}

/** The commands. Each gives its exit code to `exit`. */
const createProgram = (world: World, exit: (code: number) => void): Command => {
  const program = new Command('waypost')
    .description('Compiles the MCP registry from a Kubernetes cluster, and serves it.')
    .version(world.version)
    .configureOutput({ writeOut: world.print, writeErr: world.printError })
    .exitOverride()
    .showSuggestionAfterError()
    .addHelpText('after', '\nExit codes: 0 done, findings included; 1 the world failed; 2 bad usage or configuration.')

  const AS = new Option('--as <mode>', 'manifests: never applied, so without a status; cluster: a dump of a live one')
    .choices(['manifests', 'cluster'])
    .default('manifests')
  const FROM = ['--from <path>', 'a file or folder of manifests, or - for standard input'] as const
  const STORE = ['--store <url>', 'another store than publish.store'] as const
  const AT = ['--at <time>', 'the time to take for now, for tests', parseTime] as const

  const command = (name: string, summary: string): Command =>
    program
      .command(name)
      .description(summary)
      .option('--config <file>', 'the configuration (default: waypost.yaml here, if there is one)')
  const reading = (name: string, summary: string): Command =>
    command(name, summary).option(FROM[0], `${FROM[1]}; without it, the clusters of the sources`).addOption(AS)
  const ofRegistry = (name: string, summary: string): Command =>
    command(name, summary).option('--registry <name>', 'which registry (default: the first)')

  reading('compile', 'Print the registry that manifests give, and why what is missing is missing')
    .option(...AT)
    .option('--json', 'print JSON and nothing else')
    .addHelpText(
      'after',
      '\nExamples:\n  waypost compile --from manifests/\n  kubectl get mcpservers,mcpserverentries -A -o json | waypost compile --from - --as cluster --json',
    )
    .action(async (options: Reading & { readonly json?: true }) => {
      const compilation = await compileFrom(options, world)
      world.print(options.json ? compilationJson(compilation) : renderCompilation(compilation))
    })

  command('sync', 'Compile the registry and publish it to the store')
    .option(FROM[0], `${FROM[1]}; without it, the clusters of the sources`)
    .addOption(AS)
    .option(...STORE)
    .option('--source <name>', 'read only this source; the others give what they last gave')
    .option('--force', 'let servers go that the shrink guard would keep')
    .option('--dry-run', 'show what would change, and write nothing')
    .option(...AT)
    .option('--json', 'print the reports as JSON and nothing else')
    .addHelpText(
      'after',
      '\nExit codes: 0 all sources were read; 1 one failed or was refused (what the others changed is published).\nExamples:\n  waypost sync\n  waypost sync --from manifests/ --dry-run',
    )
    .action(async (options) => exit(await runSync(options, world)))

  command('watch', 'Publish whenever a cluster changes, until it is stopped')
    .option(...STORE)
    .addHelpText(
      'after',
      '\nOf several replicas one publishes, by a Lease (watch.lease).\nExample:\n  waypost watch --store s3://registry/production',
    )
    .action((options) => runWatch(options, world))

  command('doctor', 'Check kubeconfig, cluster, permissions and store, and say what to add')
    .option(...STORE)
    .option('--json', 'print JSON and nothing else')
    .addHelpText('after', '\nExit codes: 0 a sync should work; 1 it would fail.')
    .action(async (options) => exit(await runDoctor(options, world)))

  command('serve', 'Serve what was published, or what manifests give')
    .option(FROM[0], `${FROM[1]}; without it, from the store`)
    .addOption(AS)
    .option(...STORE)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port to listen on', parsePort, 8787)
    .addHelpText('after', '\nExamples:\n  waypost serve\n  waypost serve --from examples/ --port 8788')
    .action((options) => runServe(options, world))

  command('status', 'Say what is published, how old it is, and how the sources are')
    .option('--registry <name>', 'only this registry')
    .option('--json', 'print JSON and nothing else')
    .action((options) => status(options, world))

  ofRegistry('history', 'List the publications that are kept, the newest first')
    .option('--json', 'print JSON and nothing else')
    .action((options) => history(options, world))

  ofRegistry('diff', 'Say what changed between two publications')
    .argument('[a]', 'from this one (default: the one before b)', parseSequence)
    .argument('[b]', 'to this one (default: the current one)', parseSequence)
    .addOption(new Option('--json', 'print JSON and nothing else').conflicts('markdown'))
    .option('--markdown', 'print what pastes into a pull request')
    .addHelpText('after', '\nExamples:\n  waypost diff\n  waypost diff 12 15 --markdown')
    .action((a: number | undefined, b: number | undefined, options) => diff(a, b, options, world))

  ofRegistry('approve', 'Accept the losses that the last sync refused')
    .option(...AT)
    .action((options) => approve(options, world))

  ofRegistry('rollback', 'Serve an earlier publication again, until the cluster or the configuration changes')
    .argument('<publication>', 'its number', parseSequence)
    .option(...AT)
    .addHelpText('after', '\nExample:\n  waypost history && waypost rollback 12')
    .action((sequence: number, options) => rollback(sequence, options, world))

  reading('explain', 'Say where a resource is listed, or what keeps it out and how to change that')
    .argument('<resource>', 'KIND/NAMESPACE/NAME')
    .addHelpText('after', '\nExample:\n  waypost explain MCPServer/production/github --from manifests/')
    .action(async (resource: string, options: Reading) => {
      const target = parseTarget(resource)
      const { kind, text } = explain(target, await compileFrom(options, world))
      if (kind === 'explained') return world.print(`${text}\n`)
      world.printError(`${text}\n`)
      exit(1)
    })

  program
    .command('validate')
    .description('Check a configuration')
    .requiredOption('--config <file>', 'the configuration to check')
    .action(async (options: { readonly config: string }) => {
      const { config } = await loadConfig(options.config, world)
      world.print(
        `${options.config} is valid: ${config.registries.map(({ name, sources }) => `registry ${name} from ${sources.join(', ')}`).join('; ')}.\n`,
      )
    })

  program
    .command('schema')
    .description('Print the JSON Schema of the configuration, for editors')
    .action(() => world.print(`${JSON.stringify(configJsonSchema(), null, 2)}\n`))

  return program
}

/** Runs one command and gives its exit code. An error that is neither the caller's nor the world's is ours: it is thrown on. */
export const run = async (args: readonly string[], world: World): Promise<number> => {
  let code = 0
  const program = createProgram(world, (exitCode) => {
    code = exitCode
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    // Commander has said it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof OperationError) world.printError(`waypost: ${error.message} (${error.code})\n`)
    else if (error instanceof UsageError) world.printError(`waypost: ${error.message}\n`)
    else throw error
    return error instanceof UsageError ? 2 : 1
  }
}
