import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import * as z from 'zod'
import { OperationError } from '../../core/model/operation-error.ts'
import type { ReadAs } from '../../core/model/snapshot.ts'
import { type ServedRegistry, serveDocument } from '../../core/serve/served-registry.ts'
import { createApi } from '../api/api.ts'
import { type Compilation, compileManifests } from '../compile.ts'
import { type Config, configJsonSchema } from '../config/config.ts'
import { explain, parseTarget } from './explain.ts'
import { loadConfig } from './load-config.ts'
import { compilationJson, renderCompilation } from './render-compilation.ts'
import { UsageError, type World } from './world.ts'

type Reading = { readonly from: string; readonly as: ReadAs; readonly config?: string; readonly at?: number }

const parsePort = (text: string): number => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65535 || text.trim() === '')
    throw new InvalidArgumentError('A port is a number from 0 to 65535; 0 takes any that is free.')
  return port
}

const parseTime = (text: string): number => {
  const time = z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new InvalidArgumentError('A time is written like 2026-01-31T12:00:00Z.')
  return time
}

const compileFrom = async (
  options: Reading,
  world: World,
): Promise<{ readonly config: Config; readonly compilation: Compilation }> => {
  const { config } = await loadConfig(options.config, world)
  return {
    config,
    compilation: compileManifests(
      config,
      await world.readManifests(options.from),
      options.as,
      options.at ?? world.now(),
    ),
  }
}

const serve = async (
  options: Reading & { readonly host: string; readonly port: number },
  world: World,
): Promise<void> => {
  const { config, compilation } = await compileFrom(options, world)
  if (config.auth.mode !== 'anonymous')
    throw new UsageError(
      `auth.mode is ${config.auth.mode}, but private registries are not built yet. Set auth.mode: anonymous to serve to everyone.`,
    )
  // A registry that claims restrict is not empty, it is not there.
  const served = compilation.registries
    .filter((_, index) => !config.registries[index]?.hasClaims)
    .map(({ document }) => serveDocument(document))
  const [first, ...others]: readonly ServedRegistry[] = served
  if (first === undefined)
    throw new UsageError(
      'Every registry has claims, and private registries are not built yet: there is nothing to serve.',
    )
  const { port, closed } = await world.listen(createApi([first, ...others]), options.host, options.port)
  const base = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`
  world.print(renderCompilation(compilation))
  world.print(
    [
      'Open:',
      `  ${base}/v0.1/servers`,
      ...served.map(({ name }) => `  ${base}/registry/${name}/v0.1/servers`),
      `  ${base}/healthz`,
      'Ctrl-C ends it.',
      '',
    ].join('\n'),
  )
  await closed
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

  const reading = (name: string, summary: string): Command =>
    program
      .command(name)
      .description(summary)
      .requiredOption('--from <path>', 'a file or folder of manifests, or - for standard input')
      .addOption(
        new Option('--as <mode>', 'manifests: never applied, so without a status; cluster: a dump of a live one')
          .choices(['manifests', 'cluster'])
          .default('manifests'),
      )
      .option('--config <file>', 'the configuration (default: waypost.yaml here, if there is one)')

  reading('compile', 'Print the registry that manifests give, and why what is missing is missing')
    .option('--at <time>', 'the time to compile at', parseTime)
    .option('--json', 'print JSON and nothing else')
    .addHelpText(
      'after',
      '\nExamples:\n  waypost compile --from manifests/\n  kubectl get mcpservers,mcpserverentries -A -o json | waypost compile --from - --as cluster --json',
    )
    .action(async (options: Reading & { readonly json?: true }) => {
      const { compilation } = await compileFrom(options, world)
      world.print(options.json ? compilationJson(compilation) : renderCompilation(compilation))
    })

  reading('serve', 'Serve the registry that manifests give')
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port to listen on', parsePort, 8787)
    .addHelpText('after', '\nExample:\n  waypost serve --from examples/ --port 8788')
    .action((options) => serve(options, world))

  reading('explain', 'Say where a resource is listed, or what keeps it out and how to change that')
    .argument('<resource>', 'KIND/NAMESPACE/NAME')
    .addHelpText('after', '\nExample:\n  waypost explain MCPServer/production/github --from manifests/')
    .action(async (resource: string, options: Reading) => {
      const target = parseTarget(resource)
      const { kind, text } = explain(target, (await compileFrom(options, world)).compilation)
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
    if (error instanceof UsageError || error instanceof OperationError) world.printError(`waypost: ${error.message}\n`)
    else throw error
    return error instanceof UsageError ? 2 : 1
  }
}
