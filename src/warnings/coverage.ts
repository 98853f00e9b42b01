import { contains, parseNetwork } from '../base/ip-network.ts'
import { type Condition, type ConditionType, isCaseless, type Rule, type When } from '../model/l7-rules.ts'

const folded = (type: ConditionType, text: string): string => (isCaseless(type) ? text.toLowerCase() : text)

/** Returns whether the first rule certainly holds for every request that the second rule holds for. */
export function covers({ when: first }: Rule, { when: second }: Rule): boolean {
  if (first === undefined) return true
  if (second === undefined) return false
  // Each alternative of the second rule: conditions that hold together.
  return waysOf(second).every((together) => holdsWith(first, together))
}

const waysOf = ({ all, any = [] }: When): readonly (readonly Condition[])[] =>
  all === undefined ? any.map((condition) => [condition]) : [all]

function holdsWith({ all, any = [] }: When, together: readonly Condition[]): boolean {
  const follows = (wanted: Condition) => together.some((given) => implies(given, wanted))
  return all === undefined ? any.some(follows) : all.every(follows)
}

function implies(given: Condition, wanted: Condition): boolean {
  if (given.type !== wanted.type || nameOf(given) !== nameOf(wanted)) return false
  const [isNot, wantsNot] = [given.negate === true, wanted.negate === true]
  if (isNot !== wantsNot) return false
  return isNot ? isWithin(wanted, given) : isWithin(given, wanted)
}

/** Rules in their order, indexed: among thousands, a rule is compared only with those that may cover it. */
export class Takers {
  readonly #rules = new Map<number, Rule>()
  /**
   * Positions of rules that compare a whole property, by each value they compare it with; all other rules are in
   * `#others`.
   */
  readonly #byValue = new Map<string, number[]>()
  readonly #others: number[] = []

  add(at: number, rule: Rule): void {
    this.#rules.set(at, rule)
    const keys = keysOf(rule)
    if (keys === undefined) this.#others.push(at)
    for (const key of keys ?? []) {
      const known = this.#byValue.get(key)
      if (known === undefined) this.#byValue.set(key, [at])
      else known.push(at)
    }
  }

  /** Returns the position of the first rule that covers this one. */
  first(rule: Rule): number | undefined {
    const [together = []] = rule.when === undefined ? [] : waysOf(rule.when)
    // Whole values are contained only in whole values, so the first value finds every rule that may contain them.
    const near = together.flatMap((given) => this.#byValue.get(keyOf(given, given.values[0] ?? '')) ?? [])
    const candidates = [...this.#others, ...near].toSorted((one, other) => one - other)
    return candidates.find((at) => covers(this.#rules.get(at) as Rule, rule))
  }
}

const keyOf = (condition: Condition, value: string): string =>
  `${condition.type} ${nameOf(condition)} ${folded(condition.type, value)}`

/** Returns keys of which each rule covered by this one has at least one; undefined if no such keys are known. */
function keysOf({ when }: Rule): readonly string[] | undefined {
  const { all, any = [] } = when ?? {}
  const needed = all === undefined ? any : all.filter(isListed).slice(0, 1)
  if (needed.length === 0 || !needed.every(isListed)) return undefined
  return needed.flatMap((condition) => condition.values.map((value) => keyOf(condition, value)))
}

const isListed = (condition: Condition): boolean =>
  isWhole(condition) && condition.negate !== true && condition.values.length > 0

const nameOf = ({ type, name = '' }: Condition): string => (type === 'header' ? name.toLowerCase() : name)

/**
 * Returns whether everything that matches the first condition matches the other; a condition without values only needs
 * the property to exist.
 */
function isWithin(one: Condition, other: Condition): boolean {
  if (other.values.length === 0) return true
  if (one.values.length === 0) return false
  // Long lists are not compared: a frontend may have 2,000 rules of 1,000 values each.
  if (isWhole(one) && isWhole(other)) return one.values.length <= FOUND_MAX && isSubset(wholesOf(one), wholesOf(other))
  if (one.values.length * other.values.length > COMPARED_MAX) return false
  return one.values.every((value) => other.values.some((wider) => isPart(one, value, other, wider)))
}

const FOUND_MAX = 100
const COMPARED_MAX = 1_000
const isWhole = ({ type, match = 'is' }: Condition): boolean => match === 'is' && type !== 'source'

// Rules are never changed in place, so these sets stay valid.
const wholes = new WeakMap<Condition, ReadonlySet<string>>()

function wholesOf(condition: Condition): ReadonlySet<string> {
  let known = wholes.get(condition)
  if (known === undefined) {
    known = new Set(condition.values.map((value) => folded(condition.type, value)))
    wholes.set(condition, known)
  }
  return known
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  for (const one of some) if (!all.has(one)) return false
  return true
}

function isPart(one: Condition, value: string, other: Condition, wider: string): boolean {
  const { type } = one
  if (type === 'source') return isPartOfNetwork(value, wider)
  const [how, howWide] = [one.match ?? 'is', other.match ?? 'is']
  if (how === howWide && value === wider) return true
  if (how === 'regex') return false
  const [text, part] = [folded(type, value), folded(type, wider)]
  if (howWide === 'contains') return text.includes(part)
  if (how !== 'is' && how !== howWide) return false
  if (howWide === 'begins') return text.startsWith(part)
  if (howWide === 'ends') return text.endsWith(part)
  return howWide === 'is' && text === part
}

function isPartOfNetwork(value: string, wider: string): boolean {
  const [network, around] = [parseNetwork(value), parseNetwork(wider)]
  return network !== undefined && around !== undefined && contains(around, network)
}
