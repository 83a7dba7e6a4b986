import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseManifests } from '../adapters/cluster/manifests.ts'
import { type Compiled, compile } from '../core/compile/compile.ts'
import type { RegistryState } from '../core/model/state.ts'
import { type Compilation, compileSnapshots, readSources } from '../functions/compile.ts'
import { type Config, parseConfig } from '../functions/config/config.ts'
import { candidateOf, T0 } from './candidate.ts'

// Sequences 16 to 18 of the publication: a route that lags is not a route that is gone.

const parsed = parseConfig('')
if (parsed.kind === 'bad') throw new Error('the default configuration is valid')
const config: Config = parsed.config

const MINUTE = 60_000
const healthy = readFileSync(new URL('scenarios/route-grace/before.yaml', import.meta.url), 'utf8')

const compileAt = (minutes: number, yaml: string, previous?: Compilation): Compilation =>
  compileSnapshots(
    config,
    readSources(config, { root: '.', documents: parseManifests('x.yaml', yaml) }, 'cluster'),
    T0 + minutes * MINUTE,
    previous?.registries,
  )

const urls = ({ registries }: Compilation): readonly string[] =>
  registries.flatMap(({ document }) =>
    document.entries.flatMap(({ server }) => (server.remotes ?? []).map(({ url }) => url)),
  )
const codes = ({ findings }: Compilation): readonly string[] => findings.map(({ code }) => code)

/** Changes one thing, and makes sure that it was there to be changed. */
const changed = (yaml: string, from: string | RegExp, to: string): string => {
  const result = yaml.replace(from, to)
  if (result === yaml) throw new Error(`${from} is not in the manifests`)
  return result
}

const HTTPS = 'https://r.example.com/mcp'
const HTTP = 'http://r.example.com/mcp'
const notAccepted = changed(healthy, /(kind: HTTPRoute[\s\S]*type: Accepted, status: )'True'/, "$1'Unknown'")
const withoutCertificate = readFileSync(new URL('scenarios/route-grace/in.yaml', import.meta.url), 'utf8')

describe('a listed remote', () => {
  test('16: stays for ten minutes while its route is pending, then goes, also when nothing else has changed', () => {
    const listed = compileAt(0, healthy)
    const atOnce = compileAt(1, notAccepted, listed)
    const later = compileAt(6, notAccepted, atOnce)
    const over = compileAt(12, notAccepted, later)
    expect([listed, atOnce, later, over].map(urls)).toEqual([[HTTPS], [HTTPS], [HTTPS], []])
    for (const each of [atOnce, later])
      expect(codes(each)).toEqual(expect.arrayContaining(['RouteNotAccepted', 'PendingGrace']))
    expect(codes(over)).toContain('RouteNotAccepted')
    expect(codes(over)).not.toContain('PendingGrace')
  })

  test('16: the time begins anew after the route was healthy in between', () => {
    const pending = compileAt(1, notAccepted, compileAt(0, healthy))
    const healed = compileAt(5, healthy, pending)
    expect(urls(compileAt(14, notAccepted, compileAt(6, notAccepted, healed)))).toEqual([HTTPS])
  })

  test('17: https stays while its listener lost its certificate, and http is not published meanwhile', () => {
    const pending = compileAt(1, withoutCertificate, compileAt(0, healthy))
    expect(urls(pending)).toEqual([HTTPS])
    expect(urls(compileAt(12, withoutCertificate, pending))).toEqual([HTTP])
  })

  test('18: goes at once when the annotation is removed, pending or not', () => {
    const pending = compileAt(1, notAccepted, compileAt(0, healthy))
    const removed = changed(notAccepted, /toolhive\.stacklok\.dev\/registry-export: 'true'/, 'other: x')
    expect(urls(compileAt(2, removed, pending))).toEqual([])
  })

  test('goes at once when the obstacle is not one that passes', () => {
    const listed = compileAt(0, healthy)
    const denied = changed(healthy, /(kind: HTTPRoute[\s\S]*type: Accepted, status: )'True'/, "$1'False'")
    expect(urls(compileAt(1, denied, listed))).toEqual([])
    expect(
      urls(compileAt(1, changed(notAccepted, 'name: mcp-a-proxy, port: 8080', 'name: other, port: 8080'), listed)),
    ).toEqual([])
  })

  test('stays with its old path while the controller has not seen the new one', () => {
    const moved = changed(
      changed(healthy, 'value: /mcp', 'value: /moved'),
      /(kind: HTTPRoute[\s\S]*generation: )1/,
      '$12',
    )
    expect(urls(compileAt(1, moved, compileAt(0, healthy)))).toEqual([HTTPS])
  })

  test.each([
    ['its hostname was taken away', changed(notAccepted, 'r.example.com', 'other.example.com')],
    ['its listener was taken away', changed(notAccepted, 'name: https', 'name: renamed')],
    ['its listener speaks something else', changed(notAccepted, 'protocol: HTTPS', 'protocol: TCP')],
    ['its Gateway is not a parent any more', changed(notAccepted, /(parentRefs:\n\s*- \{name: )gw/, '$1other')],
  ])('goes at once when, beside being pending, %s', (_, manifests) => {
    expect(urls(compileAt(1, manifests, compileAt(0, healthy)))).not.toContain(HTTPS)
  })

  test('goes at once when its path is not led to it any more, if the controller has judged the route', () => {
    expect(
      urls(compileAt(1, changed(withoutCertificate, 'value: /mcp', 'value: /moved'), compileAt(0, healthy))),
    ).toEqual(['http://r.example.com/moved'])
  })

  test('stays when its Gateway has lost the address that it was named by', () => {
    const nameless = changed(healthy, / {2}hostnames: \[r\.example\.com\]\n/, '')
    const listed = compileAt(0, nameless)
    expect(urls(listed)).toEqual(['https://lb.example.net/mcp'])
    const lost = compileAt(
      1,
      changed(nameless, / {2}addresses:\n {2}- \{type: Hostname, value: lb\.example\.net\}\n/, '  addresses: []\n'),
      listed,
    )
    expect([urls(lost), codes(lost)]).toEqual([
      ['https://lb.example.net/mcp'],
      expect.arrayContaining(['GatewayAddressPending', 'PendingGrace']),
    ])
  })

  test('gives way to another server whose healthy route answers there', () => {
    const documents = notAccepted.split('---\n')
    const renamed = (yaml: string): string =>
      yaml
        .replaceAll('mcp-a-proxy', 'mcp-b-proxy')
        .replaceAll('u-a', 'u-b')
        .replace(/name: a,/g, 'name: b,')
        .replace('name: r\n', 'name: r2\n')
    const healthyRoute = healthy
      .split('---\n')
      .filter((each) => /kind: (HTTPRoute|MCPServer|Service)/.test(each))
      .map(renamed)
    const both = compileAt(1, [...documents, ...healthyRoute].join('---\n'), compileAt(0, healthy))
    expect(
      both.registries[0]?.document.entries.filter(({ status }) => status === 'active').map(({ name }) => name),
    ).toEqual(['dev.stacklok.toolhive/app.b'])
  })

  test('stays at its matched path too, where the path of the transport led elsewhere', () => {
    const transport = parseConfig('discovery: { endpoint: transport }')
    if (transport.kind === 'bad') throw new Error('valid')
    const at = (minutes: number, yaml: string, previous?: Compilation): Compilation =>
      compileSnapshots(
        transport.config,
        readSources(transport.config, { root: '.', documents: parseManifests('x.yaml', yaml) }, 'cluster'),
        T0 + minutes * MINUTE,
        previous?.registries,
      )
    const [prefixed, withoutIt] = [healthy, withoutCertificate].map((yaml) => changed(yaml, 'value: /mcp', 'value: /'))
    const taker = prefixed?.split('---\n').find((each) => each.includes('kind: HTTPRoute')) ?? ''
    const other = changed(
      changed(changed(taker, 'value: /', 'value: /mcp'), 'name: r\n', 'name: taker\n'),
      /registry-export: 'true'/,
      "registry-export: 'false'",
    )
    const listed = at(0, `${prefixed}---\n${other}`)
    expect(urls(listed)).toEqual(['https://r.example.com/'])
    expect(urls(at(1, `${withoutIt}---\n${other}`, listed))).toEqual(['https://r.example.com/'])
  })

  test('that was never listed is not listed by grace', () => {
    expect(urls(compileAt(0, notAccepted))).toEqual([])
  })

  test('comes back with its name and its first time', () => {
    const listed = compileAt(0, healthy)
    const gone = compileAt(20, notAccepted, compileAt(1, notAccepted, listed))
    const back = compileAt(30, healthy, gone)
    expect(back.registries[0]?.state.entries[0]).toMatchObject({
      name: listed.registries[0]?.state.entries[0]?.name,
      publishedAt: T0,
      statusChangedAt: T0 + 30 * MINUTE,
    })
  })
})

const healthyServer = candidateOf('a')
const waiting = candidateOf('a', {
  remotes: [],
  pending: healthyServer.remotes.map(({ url }) => ({ kind: 'direct', url })),
})

test('19: the grace does not run while the source cannot be read, and begins anew with the next good read', () => {
  const at = (minutes: number, isFresh: boolean, previous: RegistryState | undefined, isPending: boolean) =>
    compile(
      previous,
      {
        registry: 'default',
        hasClaims: false,
        sources: [
          {
            name: 'cluster',
            hasClaims: false,
            observedAt: T0 + (isFresh ? minutes : 1) * MINUTE,
            isFresh,
            candidates: [isPending ? waiting : healthyServer],
          },
        ],
        kubernetesMetadata: 'minimal',
        tombstones: 30 * 24 * 60 * MINUTE,
        pendingGrace: 10 * MINUTE,
      },
      T0 + minutes * MINUTE,
    )
  const active = ({ document }: Compiled): number => document.entries.filter(({ status }) => status === 'active').length
  const pending = at(1, true, at(0, true, undefined, false).state, true)
  const unread = at(30, false, pending.state, true)
  const readAgain = at(61, true, unread.state, true)
  const later = at(70, true, readAgain.state, true)
  expect([pending, unread, readAgain, later, at(72, true, later.state, true)].map(active)).toEqual([1, 1, 1, 1, 0])
})

describe('a resource that is not ready', () => {
  const required = parseConfig('discovery: { requireReady: true }')
  const server = (phase: string): string =>
    `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServer\nmetadata:\n  name: a\n  namespace: n\n  annotations:\n    toolhive.stacklok.dev/registry-export: "true"\n    toolhive.stacklok.dev/registry-url: https://mcp.example.com/a\n    toolhive.stacklok.dev/registry-description: A\nstatus: { phase: ${phase} }\n`
  const at = (minutes: number, phase: string, previous?: Compilation): Compilation => {
    if (required.kind === 'bad') throw new Error('valid')
    return compileSnapshots(
      required.config,
      readSources(required.config, { root: '.', documents: parseManifests('x.yaml', server(phase)) }, 'cluster'),
      T0 + minutes * MINUTE,
      previous?.registries,
    )
  }

  test('stays for the grace, then goes', () => {
    const pending = at(1, 'Pending', at(0, 'Ready'))
    expect([pending, at(5, 'Pending', pending), at(12, 'Pending', pending)].map(urls)).toEqual([
      ['https://mcp.example.com/a'],
      ['https://mcp.example.com/a'],
      [],
    ])
    expect(urls(at(0, 'Pending'))).toEqual([])
  })

  test('does not keep a URL that is not its own any more', () => {
    if (required.kind === 'bad') throw new Error('valid')
    const moved = server('Pending').replace('example.com/a', 'example.com/b')
    const reading = readSources(required.config, { root: '.', documents: parseManifests('x.yaml', moved) }, 'cluster')
    expect(urls(compileSnapshots(required.config, reading, T0 + MINUTE, at(0, 'Ready').registries))).toEqual([])
  })
})
