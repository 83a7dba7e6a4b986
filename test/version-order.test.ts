import { expect, test } from 'vitest'
import { compareVersions, latestOf } from '../core/compile/version-order.ts'
import { isServerName, isServerVersion } from '../core/model/entry.ts'
import { shuffled } from './shuffled.ts'

const version = (text: string, publishedAt = 0, status = 'active') => ({ version: text, publishedAt, status })

test('versions stand in semver order, and what is not semver after them as text', () => {
  const order = ['0.9.0', '1.0.0-alpha', '1.0.0', '1.0.0+build', 'v1.2.0', '1.10.0', '2026.1', 'abc']
  for (let seed = 1; seed < 20; seed++) expect([...shuffled(order, seed)].sort(compareVersions)).toEqual(order)
})

test('latest is the highest semver, whatever else there is', () => {
  expect(latestOf([version('1.9.0'), version('1.10.0'), version('nightly', 99)])?.version).toBe('1.10.0')
  expect(latestOf([version('2.0.0', 0, 'deleted'), version('1.0.0')])?.version).toBe('1.0.0')
})

test('among versions that are not semver the youngest is latest', () => {
  expect(latestOf([version('zzz', 1), version('aaa', 2)])?.version).toBe('aaa')
})

test('a version is neither latest nor a range', () => {
  for (const good of ['1.0.0', 'v1.0.0', '1.0.0+build', '2026.1', '1.0.0-x.7', 'max', 'xray'])
    expect(isServerVersion(good), good).toBe(true)
  const bad = [
    '',
    'latest',
    '^1.0.0',
    '~1',
    '>=1.0',
    '<2',
    '=1.0.0',
    '1.x',
    '1.X.0',
    '1.2.*',
    '*',
    '1 - 2',
    '1.0 || 2.0',
    '1\u0000',
    'x'.repeat(256),
  ]
  for (const each of bad) expect(isServerVersion(each), each).toBe(false)
})

test('both halves of a name have two characters and start and end alphanumeric', () => {
  for (const good of ['io.github/ab', 'a1/b2', 'dev.stacklok.toolhive/ns.name_x'])
    expect(isServerName(good), good).toBe(true)
  for (const bad of ['a/b', 'ab/c', 'ab', 'ab/cd/ef', '.ab/cd', 'ab/cd-', 'a_b/cd', 'ab/c d', `ab/${'c'.repeat(200)}`])
    expect(isServerName(bad), bad).toBe(false)
})
