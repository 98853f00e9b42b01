import t from 'tap'
import type { Condition, Rule, When } from '../../../src/model/l7-rules.ts'
import { covers, Takers } from '../../../src/warnings/coverage.ts'
import { seededRandom } from '../../storage/archive/reference-model.ts'

const that = (type: Condition['type'], match: Condition['match'], ...values: string[]): Condition => ({
  type,
  ...(match && { match }),
  values,
})
const all = (...conditions: Condition[]): When => ({ all: conditions })
const any = (...conditions: Condition[]): When => ({ any: conditions })
const not = (condition: Condition): Condition => ({ ...condition, negate: true })
const API = that('path', 'begins', '/api')
const A = that('host', 'is', 'a.test')

/** Pairs of rules of which the first leaves nothing for the second. */
const COVERED: readonly (readonly [when: When, by: When])[] = [
  [all(that('path', 'is', '/api/x')), all(API)],
  [all(that('path', 'begins', '/api/')), all(API)],
  [all(that('path', undefined, '/api', '/apis')), all(that('path', 'begins', '/x', '/api'))],
  [all(that('path', 'begins', '/api'), A), all(API)],
  [all(A, API), any(API, that('path', 'is', '/other'))],
  [any(that('path', 'is', '/api'), that('path', 'is', '/b')), any(API, that('path', 'is', '/b'))],
  [all(that('host', 'is', 'A.Test')), all(A)],
  [all(that('host', 'is', 'x.a.test')), all(that('host', 'ends', '.A.test'))],
  [all(that('host', 'ends', '.x.a.test')), all(that('host', 'contains', 'a.test'))],
  [all(that('path', 'regex', '^/a+$')), all(that('path', 'regex', '^/a+$', '^/b$'))],
  [all(that('source', 'in', '192.0.2.7')), all(that('source', 'in', '192.0.2.0/24'))],
  [all({ ...that('header', 'is', 'x'), name: 'X-A' }), all({ ...that('header', undefined), name: 'x-a' })],
  [all(not(API)), all(not(that('path', 'is', '/api/x')))],
]
const NOT_COVERED: readonly (readonly [when: When, by: When])[] = [
  [all(API), all(that('path', 'is', '/api'))],
  [all(API), all(that('path', 'begins', '/api/'))],
  [all(API), all(API, A)],
  [any(API, A), all(API)],
  [all(that('path', 'is', '/api', '/b')), all(API)],
  [all(that('path', 'is', '/API')), all(API)],
  [all(that('path', 'is', '/aaa')), all(that('path', 'regex', '^/a+$'))],
  [all(that('path', 'ends', '/api')), all(API)],
  [all(that('source', 'in', '192.0.0.0/16')), all(that('source', 'in', '192.0.2.0/24'))],
  [all({ ...that('header', 'is', 'x'), name: 'X-A' }), all({ ...that('header', undefined), name: 'X-B' })],
  [all({ ...that('header', undefined), name: 'X-A' }), all({ ...that('header', 'is', 'x'), name: 'X-A' })],
  [all({ ...that('cookie', 'is', 'x'), name: 'a' }), all({ ...that('cookie', 'is', 'x'), name: 'A' })],
  [all(not(that('path', 'is', '/api/x'))), all(not(API))],
  [all(not(API)), all(API)],
  [all(that('sni', 'is', 'a.test')), all(A)],
]

t.test('a rule covers another when it matches every request of the other', async (test) => {
  const of = ([when, by]: readonly [When, When]) =>
    covers({ when: by, do: { type: 'deny' } }, { when, do: { type: 'deny' } })
  for (const one of COVERED) test.ok(of(one), JSON.stringify(one))
  for (const one of NOT_COVERED) test.notOk(of(one), JSON.stringify(one))
  const always = { do: { type: 'deny' } } as const
  test.ok(covers(always, { ...always, when: all(API) }))
  test.notOk(covers({ ...always, when: all(API) }, always))
})

t.test('among many rules the result is that of comparing all', (test) => {
  const random = seededRandom(7)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const conditions: readonly Condition[] = [...COVERED, ...NOT_COVERED].flatMap((pair) =>
    pair.flatMap(({ all: together = [], any: each = [] }) => [...together, ...each]),
  )
  let found = 0
  for (let round = 0; round < 200; round++) {
    const rules = Array.from({ length: 30 }, (): Rule => {
      const some = Array.from({ length: 1 + Math.floor(random() * 2) }, () => pick(conditions))
      return { when: random() < 0.5 ? { all: some } : { any: some }, do: { type: 'deny' } }
    })
    const takers = new Takers()
    for (const [at, rule] of rules.entries()) {
      const first = rules.slice(0, at).findIndex((before) => covers(before, rule))
      if (first !== -1) found += 1
      if ((takers.first(rule) ?? -1) !== first) test.fail(JSON.stringify([rule, rules[first]]))
      takers.add(at, rule)
    }
  }
  test.ok(found > 500, `${found} covered`)
  test.end()
})
