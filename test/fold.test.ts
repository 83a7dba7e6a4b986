import { describe, expect, test } from 'vitest'
import { type Compiled, compile, type RegistryInputs } from '../core/compile/compile.ts'
import type { Candidate } from '../core/model/candidate.ts'
import type { RegistryState } from '../core/model/state.ts'
import { candidateOf, T0 } from './candidate.ts'

// The sequences of the publication that the fold decides, by their numbers.

const HOUR = 3_600_000
const DAY = 24 * HOUR

const inputs = (...candidates: readonly Candidate[]): RegistryInputs => ({
  registry: 'default',
  hasClaims: false,
  sources: ['cluster', 'eu', 'us'].map((name) => ({
    name,
    hasClaims: false,
    observedAt: T0,
    isFresh: true,
    candidates: candidates.filter(({ ref }) => ref.source === name),
  })),
  kubernetesMetadata: 'minimal',
  tombstones: 30 * DAY,
  pendingGrace: 10 * 60_000,
})

const fold = (previous: RegistryState | undefined, at: number, ...candidates: readonly Candidate[]): Compiled =>
  compile(previous, inputs(...candidates), at)

const active = ({ document }: Compiled): readonly string[] =>
  document.entries.filter(({ status }) => status === 'active').map(({ name }) => name)
const times = ({ state }: Compiled, name: string, version = '1.0.0') => {
  const entry = state.entries.find((each) => each.name.endsWith(name) && each.version === version)
  return entry && { publishedAt: entry.publishedAt, updatedAt: entry.updatedAt, statusChangedAt: entry.statusChangedAt }
}

const A = candidateOf('a')
const B = candidateOf('b')

describe('sequences of the publication', () => {
  test('1: the same input again changes neither the document nor the state', () => {
    const first = fold(undefined, T0, A)
    const second = fold(first.state, T0 + HOUR, A)
    expect(second.document.digest).toBe(first.document.digest)
    expect(second.state).toBe(first.state)
  })

  test('2: the order of resources does not matter', () => {
    expect(fold(undefined, T0, A, B)).toEqual(fold(undefined, T0, B, A))
  })

  test('3: a changed description moves updatedAt of that entry, and nothing else', () => {
    const first = fold(undefined, T0, A, B)
    const second = fold(first.state, T0 + HOUR, candidateOf('a', { description: 'Another' }), B)
    expect(second.document.digest).not.toBe(first.document.digest)
    expect(times(second, '.a')).toEqual({ publishedAt: T0, updatedAt: T0 + HOUR, statusChangedAt: T0 })
    expect(times(second, '.b')).toEqual(times(first, '.b'))
  })

  test('4: what no longer asks to be listed is a tombstone with nothing but its name, version and times', () => {
    const second = fold(fold(undefined, T0, A).state, T0 + HOUR)
    expect(active(second)).toEqual([])
    expect(second.document.entries.map(({ json }) => JSON.parse(json))).toEqual([
      {
        server: { name: 'dev.stacklok.toolhive/team.a', version: '1.0.0', description: 'Removed' },
        _meta: {
          'io.modelcontextprotocol.registry/official': {
            status: 'deleted',
            isLatest: true,
            publishedAt: '2026-01-01T00:00:00.000Z',
            updatedAt: '2026-01-01T01:00:00.000Z',
            statusChangedAt: '2026-01-01T01:00:00.000Z',
          },
        },
      },
    ])
    expect(JSON.stringify(second.state)).not.toContain('https://')
  })

  test('10: a tombstone lives for 30 days, then it goes without any other change', () => {
    const removed = fold(fold(undefined, T0, A, B).state, T0 + DAY, B)
    const later = fold(removed.state, T0 + DAY + 29 * DAY, B)
    expect(later.document.digest).toBe(removed.document.digest)
    expect(later.document.entries.map(({ status }) => status)).toEqual(['active', 'deleted'])
    const gone = fold(later.state, T0 + DAY + 31 * DAY, B)
    expect(gone.document.entries.map(({ name }) => name)).toEqual(['dev.stacklok.toolhive/team.b'])
    expect(times(gone, '.b')).toEqual(times(removed, '.b'))
  })

  test('11: what comes back has its name and publishedAt, and new other times', () => {
    const removed = fold(fold(undefined, T0, A).state, T0 + HOUR)
    const back = fold(removed.state, T0 + 2 * HOUR, A)
    expect(active(back)).toEqual(['dev.stacklok.toolhive/team.a'])
    expect(times(back, '.a')).toEqual({ publishedAt: T0, updatedAt: T0 + 2 * HOUR, statusChangedAt: T0 + 2 * HOUR })
  })

  const older = candidateOf('a')
  const younger = candidateOf('a', { kind: 'VirtualMCPServer', createdAt: T0 + HOUR })
  const suffixed = 'dev.stacklok.toolhive/team.a-virtualmcpserver'

  test('12: the younger of two keeps its suffix when the older goes', () => {
    const both = fold(undefined, T0, younger, older)
    expect(active(both)).toEqual(['dev.stacklok.toolhive/team.a', suffixed])
    expect(active(fold(both.state, T0 + DAY, younger))).toEqual([suffixed])
  })

  test('13: a name is reserved for its resource while the tombstone lives, and free after it', () => {
    const alone = fold(fold(undefined, T0, younger, older).state, T0 + DAY, younger)
    const recreated = candidateOf('a', { createdAt: T0 + 2 * DAY })
    expect(active(fold(alone.state, T0 + 2 * DAY, younger, recreated))).toEqual([
      'dev.stacklok.toolhive/team.a',
      suffixed,
    ])

    const other = candidateOf('a', { kind: 'MCPRemoteProxy', createdAt: T0 + 2 * DAY })
    expect(active(fold(alone.state, T0 + 2 * DAY, younger, other))).toEqual([
      'dev.stacklok.toolhive/team.a-mcpremoteproxy',
      suffixed,
    ])
    const forgotten = fold(alone.state, T0 + 40 * DAY, younger)
    expect(active(fold(forgotten.state, T0 + 41 * DAY, younger, other, recreated))).toEqual([
      'dev.stacklok.toolhive/team.a',
      'dev.stacklok.toolhive/team.a-mcpserver',
      suffixed,
    ])
  })

  test('14: one with an earlier creationTimestamp does not take the name of one that is listed', () => {
    const first = fold(undefined, T0, older)
    const earlier = candidateOf('a', { kind: 'VirtualMCPServer', createdAt: T0 - DAY })
    const second = fold(first.state, T0 + HOUR, older, earlier)
    expect(second.state.entries.map(({ name, owner }) => [name, owner.kind])).toEqual([
      ['dev.stacklok.toolhive/team.a', 'MCPServer'],
      [suffixed, 'VirtualMCPServer'],
    ])
  })

  test('26: a clock that is set back does not make a time go back', () => {
    const first = fold(undefined, T0, A)
    const second = fold(first.state, T0 - HOUR, candidateOf('a', { description: 'Another' }))
    expect(times(second, '.a')?.updatedAt).toBe(T0 + 1)
    expect(second.state.at).toBe(T0 + 1)
  })

  test('29: claims remove an entry at once, and its tombstone says nothing of it', () => {
    const second = fold(fold(undefined, T0, A).state, T0 + HOUR, candidateOf('a', { claims: { team: 'x' } }))
    expect(active(second)).toEqual([])
    expect(second.document.entries[0]?.json).not.toMatch(/mcp\.example\.com|Server a/)
    expect(second.findings.map(({ code }) => code)).toEqual(['ClaimsRestricted'])
  })

  test('30: a new version is latest at once, and the old one a tombstone', () => {
    const first = fold(undefined, T0, A)
    const second = fold(first.state, T0 + HOUR, candidateOf('a', { version: '1.1.0' }))
    expect(second.document.entries.map(({ version, status, isLatest }) => [version, status, isLatest])).toEqual([
      ['1.1.0', 'active', true],
      ['1.0.0', 'deleted', false],
    ])
    for (const { document } of [first, second])
      expect(document.entries.filter(({ status, isLatest }) => status === 'active' && isLatest)).toHaveLength(1)
    expect(times(second, '.a', '1.1.0')?.publishedAt).toBe(T0 + HOUR)
  })

  test('34: the first sync of an empty cluster is a registry without entries', () => {
    const { document, state } = fold(undefined, T0)
    expect(document.entries).toEqual([])
    expect(fold(state, T0 + HOUR).state).toBe(state)
  })
})

describe('names', () => {
  test('between clusters the source is the suffix', () => {
    const [eu, us] = ['eu', 'us'].map((source) =>
      candidateOf('a', {
        ref: { source, kind: 'MCPServer', namespace: 'team', name: 'a' },
        remotes: [{ type: 'sse', url: `https://${source}.example.com/a` }],
      }),
    )
    if (eu === undefined || us === undefined) throw new Error('both are there')
    expect(active(fold(undefined, T0, us, eu))).toEqual([
      'dev.stacklok.toolhive/team.a',
      'dev.stacklok.toolhive/team.a-us',
    ])
  })

  test('another naming gives other names, and the old ones become tombstones', () => {
    const first = fold(undefined, T0, A)
    const renamed = fold(first.state, T0 + HOUR, candidateOf('a', { wantedName: 'com.toolhive.k8s.team/a1' }))
    expect(renamed.document.entries.map(({ name, status }) => [name, status])).toEqual([
      ['com.toolhive.k8s.team/a1', 'active'],
      ['dev.stacklok.toolhive/team.a', 'deleted'],
    ])
  })
})

describe('URLs', () => {
  const url = { remotes: [{ type: 'sse', url: 'https://mcp.example.com/same' }] } as const

  test('the holder of a URL keeps it against an older resource', () => {
    const first = fold(undefined, T0, candidateOf('b', url))
    const second = fold(
      first.state,
      T0 + HOUR,
      candidateOf('b', url),
      candidateOf('a', { ...url, createdAt: T0 - DAY }),
    )
    expect(active(second)).toEqual(['dev.stacklok.toolhive/team.b'])
    expect(second.findings.map(({ code, subject }) => [code, subject.name])).toEqual([['UrlConflict', 'a']])
  })

  test('a URL that its holder has left is free', () => {
    const first = fold(undefined, T0, candidateOf('b', url))
    const second = fold(first.state, T0 + HOUR, candidateOf('b'), candidateOf('a', url))
    expect(active(second)).toEqual(['dev.stacklok.toolhive/team.a', 'dev.stacklok.toolhive/team.b'])
  })
})
