import { expect, test } from 'vitest'
import { parseSelector, selects } from '../core/model/selector.ts'

const isSelected = (selector: string, labels: Record<string, string>): boolean => {
  const parsed = parseSelector(selector)
  if (parsed.kind === 'bad') throw new Error(parsed.part)
  return selects(parsed.selector, new Map(Object.entries(labels)))
}

test.each([
  ['', {}, true],
  ['a=b', { a: 'b' }, true],
  ['a==b', { a: 'b' }, true],
  ['a=b', { a: 'c' }, false],
  ['a=b', {}, false],
  ['a!=b', {}, true],
  ['a!=b', { a: 'b' }, false],
  ['a in (b, c)', { a: 'c' }, true],
  ['a in (b,c),d', { a: 'c' }, false],
  ['a notin (b,c)', {}, true],
  ['a notin (b,c)', { a: 'c' }, false],
  ['app.kubernetes.io/name', { 'app.kubernetes.io/name': 'x' }, true],
  ['!legacy', { legacy: '' }, false],
  ['!legacy', {}, true],
  ['a=', { a: '' }, true],
])('%s on %j is %s, as with kubectl', (selector, labels, expected) => {
  expect(isSelected(selector, labels)).toBe(expected)
})

test.each(['a=b=c', 'a in b', 'a in (b', '=b', 'a b', ',', 'a=b,,c'])('%s is no selector', (selector) => {
  expect(parseSelector(selector).kind).toBe('bad')
})
