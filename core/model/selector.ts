/** One condition on labels. All of a selector's conditions must hold. */
export type Requirement = {
  readonly key: string
  readonly operator: 'in' | 'notIn' | 'exists' | 'absent'
  readonly values: readonly string[]
}
export type Selector = readonly Requirement[]

const KEY = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?'
const VALUE = '[A-Za-z0-9._-]*'
const EQUALITY = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`)
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)
const PRESENCE = new RegExp(`^(!?)\\s*(${KEY})$`)

const parseRequirement = (text: string): Requirement | undefined => {
  const [, key, sign, value] = EQUALITY.exec(text) ?? []
  if (key !== undefined) return { key, operator: sign === '!=' ? 'notIn' : 'in', values: [value ?? ''] }
  const [, setKey, word, list] = SET.exec(text) ?? []
  if (setKey !== undefined) {
    const values = (list ?? '').split(',').map((each) => each.trim())
    if (!values.every((each) => new RegExp(`^${VALUE}$`).test(each))) return undefined
    return { key: setKey, operator: word === 'in' ? 'in' : 'notIn', values }
  }
  const [, not, presenceKey] = PRESENCE.exec(text) ?? []
  if (presenceKey === undefined) return undefined
  return { key: presenceKey, operator: not === '!' ? 'absent' : 'exists', values: [] }
}

/** Reads a label selector as `kubectl -l` takes it: `a=b,c!=d,e in (f,g),h,!i`. */
export const parseSelector = (
  text: string,
): { kind: 'selector'; selector: Selector } | { kind: 'bad'; part: string } => {
  if (text.trim() === '') return { kind: 'selector', selector: [] }
  const selector: Requirement[] = []
  // A comma inside parentheses separates values, not requirements.
  for (const part of text.split(/,(?![^(]*\))/)) {
    const requirement = parseRequirement(part.trim())
    if (requirement === undefined) return { kind: 'bad', part: part.trim() }
    selector.push(requirement)
  }
  return { kind: 'selector', selector }
}

/** As in Kubernetes: `notIn` and `!=` also select what lacks the label. */
export const selects = (selector: Selector, labels: ReadonlyMap<string, string>): boolean =>
  selector.every(({ key, operator, values }) => {
    const value = labels.get(key)
    if (operator === 'exists') return value !== undefined
    if (operator === 'absent') return value === undefined
    return operator === 'in'
      ? value !== undefined && values.includes(value)
      : value === undefined || !values.includes(value)
  })
