import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createManifestReader } from '../adapters/cluster/manifests.ts'
import { openMemoryStore } from '../adapters/store/memory.ts'
import { OperationError } from '../core/model/operation-error.ts'
import type { BlobStore } from '../core/ports.ts'
import { run } from '../functions/cli/program.ts'
import type { World } from '../functions/cli/world.ts'

const examples = new URL('../examples', import.meta.url).pathname

type Given = {
  readonly input?: string
  readonly files?: Record<string, string>
  readonly environment?: Record<string, string>
  readonly store?: BlobStore
}

const waypost = async (args: readonly string[], given: Given = {}) => {
  const output: string[] = []
  const errors: string[] = []
  const served: Parameters<World['listen']>[] = []
  const world: World = {
    version: '1.2.3',
    environment: given.environment ?? {},
    now: () => Date.parse('2026-01-01T00:00:00Z'),
    wait: async () => {},
    print: (text) => void output.push(text),
    printError: (text) => void errors.push(text),
    readManifests: createManifestReader(Readable.from([given.input ?? ''])),
    readFile: async (path) => {
      const text = given.files?.[path]
      return text === undefined ? { kind: 'absent' } : { kind: 'found', text }
    },
    openCluster: () => Promise.reject(new OperationError('KubeconfigMissing', 'There is no kubeconfig. Give --from.')),
    stopped: () => new AbortController().signal,
    openStore: async () => given.store ?? openMemoryStore(),
    listen: async (...server) => {
      served.push(server)
      return { port: 8787, closed: Promise.resolve() }
    },
  }
  const code = await run(args, world)
  return { code, output: output.join(''), errors: errors.join(''), served }
}

const manifest = (name: string, more = ''): string =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServer\nmetadata:\n  name: ${name}\n  namespace: team\n  annotations:\n    toolhive.stacklok.dev/registry-export: "true"\n    toolhive.stacklok.dev/registry-url: https://mcp.example.com/${name}\n    toolhive.stacklok.dev/registry-description: Server ${name}\n${more}---\n`

describe('compile', () => {
  test('--json prints one object with registries and findings, and nothing else', async () => {
    const { code, output, errors } = await waypost(['compile', '--from', examples, '--json'])
    expect([code, errors]).toEqual([0, ''])
    const { registries, findings, ...rest } = JSON.parse(output)
    expect(rest).toEqual({})
    expect(registries.default.servers.map(({ name }: { name: string }) => name)).toContain(
      'dev.stacklok.toolhive/platform.github',
    )
    for (const finding of findings) {
      expect(finding).toMatchObject({
        code: expect.any(String),
        class: expect.any(String),
        effect: expect.any(String),
        message: expect.any(String),
      })
      expect(Object.keys(finding.subject)).toEqual(['source', 'kind', 'namespace', 'name'])
    }
  })

  test('the time does not change what it prints', async () => {
    const at = (time: string) => waypost(['compile', '--from', examples, '--json', '--at', time])
    expect((await at('2020-01-01T00:00:00Z')).output).toBe((await at('2030-01-01T00:00:00+02:00')).output)
  })

  test('- reads standard input', async () => {
    const { code, output } = await waypost(['compile', '--from', '-'], { input: manifest('a') })
    expect([code, output]).toEqual([0, expect.stringContaining('default: 1 server listed')])
  })

  test('for people, what never asked to be listed is only counted', async () => {
    const { output } = await waypost(['compile', '--from', examples])
    expect(output).toContain('EndpointNotPublic')
    expect(output).not.toContain('NotExported')
    expect(output).toContain('1 other resource does not ask to be listed')
  })

  test.each([
    [['compile'], 1, 'There is no kubeconfig. Give --from. (KubeconfigMissing)'],
    [['compile', '--from', 'x', '--as', 'helm'], 2, 'manifests, cluster'],
    [['compile', '--from', 'x', '--at', 'noon'], 2, '2026-01-31T12:00:00Z'],
    [['compile', '--from', 'x', '--frm', 'y'], 2, '--from'],
    [['compile', '--from', 'nowhere/at/all'], 1, 'nowhere/at/all'],
    [['compile', '--from', examples, '--config', 'missing.yaml'], 2, 'missing.yaml'],
    [['complie', '--from', 'x'], 2, 'compile'],
    [['serve', '--from', 'x', '--port', 'eighty'], 2, '65535'],
    [['explain', 'MCPServer/a', '--from', examples], 2, 'KIND/NAMESPACE/NAME'],
    [['explain', 'Deployment/a/b', '--from', examples], 2, 'MCPServerEntry'],
    [['validate'], 2, '--config'],
  ])('%j ends with %i and says what is wrong', async (args, expected, hint) => {
    const { code, output, errors } = await waypost(args)
    expect([code, output]).toEqual([expected, ''])
    expect(errors).toContain(hint)
  })

  test('--version says which', async () => {
    expect(await waypost(['--version'])).toMatchObject({ code: 0, output: '1.2.3\n' })
  })

  test('--help ends with 0', async () => {
    const { code, output } = await waypost(['--help'])
    expect([code, output]).toEqual([0, expect.stringContaining('Exit codes')])
  })
})

describe('configuration', () => {
  const files = {
    'waypost.yaml': 'registries: [{ name: here, sources: [cluster] }]',
    'other.yaml': 'registries: [{ name: other, sources: [cluster] }]',
  }
  const registryOf = async (args: readonly string[], given: Given) =>
    Object.keys(
      JSON.parse((await waypost(['compile', '--from', examples, '--json', ...args], given)).output).registries,
    )

  test('is --config, else WAYPOST_CONFIG, else waypost.yaml, else the defaults', async () => {
    const environment = { WAYPOST_CONFIG: 'registries: [{ name: variable, sources: [cluster] }]' }
    expect(await registryOf(['--config', 'other.yaml'], { files, environment })).toEqual(['other'])
    expect(await registryOf([], { files, environment })).toEqual(['variable'])
    expect(await registryOf([], { files })).toEqual(['here'])
    expect(await registryOf([], {})).toEqual(['default'])
  })

  test('that is wrong ends with 2 and names the setting', async () => {
    const { code, errors } = await waypost(['compile', '--from', examples], {
      environment: { WAYPOST_CONFIG: 'discovery: { requireRedy: true }' },
    })
    expect([code, errors]).toEqual([2, expect.stringContaining('discovery.requireRedy')])
  })

  test('validate says that a file is valid, or what in it is not', async () => {
    expect((await waypost(['validate', '--config', 'waypost.yaml'], { files })).code).toBe(0)
    expect(await waypost(['validate', '--config', 'x'], { files: { x: 'publsh: {}' } })).toMatchObject({
      code: 2,
      errors: expect.stringContaining('did you mean publish?'),
    })
  })

  test('schema prints a JSON Schema', async () => {
    expect(JSON.parse((await waypost(['schema'])).output)).toMatchObject({ type: 'object' })
  })
})

describe('explain', () => {
  test('says where a resource is listed and why', async () => {
    const { code, output } = await waypost(['explain', 'mcpserver/platform/github', '--from', examples])
    expect(code).toBe(0)
    for (const part of [
      'is listed',
      'in default as dev.stacklok.toolhive/platform.github',
      'https://mcp.acme.example/github',
      'registry-export',
    ])
      expect(output).toContain(part)
  })

  test('lists every obstacle, the decisive one first', async () => {
    const { output } = await waypost(['explain', 'vmcp/data/everything', '--from', examples])
    expect(output.match(/EndpointMissing|DescriptionMissing|ReferenceNotFound/g)).toEqual([
      'EndpointMissing',
      'DescriptionMissing',
      'ReferenceNotFound',
    ])
  })

  test('shows the way of a route, and where it stopped', async () => {
    const { output } = await waypost(['explain', 'HTTPRoute/office/calendar', '--from', examples])
    for (const part of [
      'gives 1 URL',
      'parent    Gateway gateway-system/external',
      'listener  https',
      'host      mcp.acme.example',
      'path      /calendar',
      'backend   Service office/mcp-calendar-proxy',
      'owner     MCPServer/office/calendar',
      'url       https://mcp.acme.example/calendar',
    ]) {
      expect(output).toContain(part)
    }
    const stopped = (await waypost(['explain', 'httproutes/office/travel', '--from', examples])).output
    expect(stopped).toContain('stopped   at the listener: HostnameNotMatched')
    expect(stopped).toContain('HostnameNotMatched')
  })

  test('a name with control characters does not reach the terminal', async () => {
    const input =
      'apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: r\n  namespace: n\n  annotations: { toolhive.stacklok.dev/registry-export: "true" }\nspec:\n  parentRefs: [{ name: "a\\e[2J", sectionName: "b\\u202e" }]\n'
    const { output } = await waypost(['explain', 'HTTPRoute/n/r', '--from', '-'], { input })
    expect(output).toContain('section b')
    expect(output).not.toMatch(/[\p{Cf}]|(?!\n)\p{Cc}/u)
  })

  test('of a document that cannot be read says so instead of only that it is not there', async () => {
    const { code, errors } = await waypost(['explain', 'MCPServer/team/a', '--from', '-'], { input: 'a: [' })
    expect([code, errors]).toEqual([1, expect.stringContaining('DocumentUnreadable')])
  })

  test('of what is not there names what is nearby', async () => {
    const { code, errors } = await waypost(['explain', 'MCPServer/platform/gihub', '--from', examples])
    expect([code, errors]).toEqual([1, expect.stringContaining('MCPServer/platform/github')])
    expect((await waypost(['explain', 'MCPServer/elsewhere/tickets', '--from', examples])).errors).toContain(
      'MCPRemoteProxy/platform/tickets',
    )
  })

  test('of a resource that cannot be read says what is wrong with it', async () => {
    const { code, output } = await waypost(['explain', 'MCPServer/team/a', '--from', '-'], {
      input: manifest('a', 'spec: { transport: 7 }\n'),
    })
    expect([code, output]).toEqual([0, expect.stringContaining('spec.transport is no string')])
  })

  test('of a resource whose whole source is kept out says so', async () => {
    const { output } = await waypost(['explain', 'MCPServer/team/a', '--from', '-'], {
      input: manifest('a'),
      environment: { WAYPOST_CONFIG: 'sources: [{ name: c, kubernetes: {}, claims: { a: b } }]' },
    })
    expect(output).toContain('ClaimsUnsupported')
  })
})

describe('serve', () => {
  test('prints what was listed, what was not and why, and the addresses', async () => {
    const { code, output, served } = await waypost(['serve', '--from', examples])
    expect(code).toBe(0)
    for (const part of ['7 servers listed', 'Not listed', 'EndpointNotPublic', 'http://127.0.0.1:8787/v0.1/servers'])
      expect(output).toContain(part)
    expect((await served[0]?.[0].request('/v0.1/servers'))?.status).toBe(200)
  })

  test('refuses to serve to everyone what is configured to be private', async () => {
    const { code, errors, served } = await waypost(['serve', '--from', examples], {
      environment: { WAYPOST_AUTH_MODE: 'oauth' },
    })
    expect([code, errors, served]).toEqual([2, expect.stringContaining('auth.mode'), []])
  })

  test('a registry with claims is not there', async () => {
    const config =
      'registries: [{ name: open, sources: [cluster] }, { name: closed, sources: [cluster], claims: { a: b } }]'
    const { served } = await waypost(['serve', '--from', examples], { environment: { WAYPOST_CONFIG: config } })
    const app = served[0]?.[0]
    expect([
      (await app?.request('/registry/open/v0.1/servers'))?.status,
      (await app?.request('/registry/closed/v0.1/servers'))?.status,
    ]).toEqual([200, 404])
  })
})
