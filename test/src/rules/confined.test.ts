import fc from 'fast-check'
import t from 'tap'
import { SECTION_NAMES } from '../../../src/model/sections.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { confinable, isOwned } from '../../../src/model/confined.ts'
import { Area } from '../../../src/rules/confined.ts'
import { realServer } from '../../fixtures/config.ts'

const named = (name: string, more: object = {}) => realServer('r1', { name, ...more })
const like = (...names: string[]) => new Area('realServers', [{ names }])

t.test('a star stands for any characters or none, regardless of case', async (test) => {
  const inside: readonly (readonly [string, string])[] = [
    ['shop-*', 'shop-1'],
    ['shop-*', 'SHOP-'],
    ['*', 'x'],
    ['*-web', 'shop-web'],
    ['a*b*c', 'abc'],
    ['a*b*c', 'a-b-b-c'],
    ['a**c', 'ac'],
    ['a.c', 'A.C'],
  ]
  const outside: readonly (readonly [string, string])[] = [
    ['shop-*', 'my-shop-1'],
    ['shop-*', 'shop'],
    ['a.c', 'abc'],
    ['ab*ba', 'aba'],
    ['a*b*c', 'acb'],
    ['*aa*aa', 'aaa'],
  ]
  for (const [pattern, name] of inside) test.ok(like(pattern).has(named(name)), `${pattern} ${name}`)
  for (const [pattern, name] of outside) test.notOk(like(pattern).has(named(name)), `${pattern} ${name}`)
})

t.test('a pattern means the same as the expression', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), minLength: 1, maxLength: 8 })
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', 'A'), minLength: 1, maxLength: 10 })
  fc.assert(
    fc.property(text, name, (pattern, given) => {
      const expression = new RegExp(`^${pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '.*')}$`, 'i')
      return like(pattern).has(named(given)) === expression.test(given)
    }),
    { numRuns: 2_000 },
  )
})

t.test('all conditions of one where must hold, and one of several where', async (test) => {
  const both = new Area('realServers', [{ names: ['shop-*'], owner: 'shop' }, { ids: ['r9'] }])
  test.ok(both.has(named('shop-1', { owner: 'shop' })))
  test.notOk(both.has(named('shop-1')))
  test.notOk(both.has(named('bank-1', { owner: 'shop' })))
  test.ok(both.has({ ...named('bank-1'), id: 'r9' }))
  test.notOk(new Area('realServers', [{}]).has(named('shop-1')), 'an empty one grants nothing')
})

t.test('a change is inside when its record is before and after it, and exists at all', async (test) => {
  const area = like('shop-*')
  const [shop, bank] = [named('shop-1'), named('bank-1')]
  const holds = (before: unknown, after: unknown) => area.holds({ section: 'realServers', before, after })
  test.ok(holds(shop, named('shop-2')))
  test.ok(holds(undefined, shop))
  test.ok(holds(shop, null))
  test.notOk(holds(shop, bank))
  test.notOk(holds(bank, shop))
  test.notOk(holds(bank, undefined))
  test.notOk(holds(undefined, undefined))
  test.notOk(area.holds({ section: 'l7Backends', before: undefined, after: shop }), 'another kind')
})

t.test('endpoints of single records with owners can be confined, and nothing else', async (test) => {
  const owned = SECTION_NAMES.filter(isOwned)
  test.equal(owned.length, 10)
  const names = endpoints.map(({ name }) => name).filter((name) => confinable(name) !== undefined)
  const verbs = ['create', 'delete', 'get', 'list', 'update']
  const moves = ['drain', 'halt', 'online'].map((verb) => `realServers.${verb}`)
  test.same(names.toSorted(), [...owned.flatMap((one) => verbs.map((verb) => `${one}.${verb}`)), ...moves].toSorted())
  for (const name of ['l7Raw.update', 'healthChecks.test', 'roles.update', 'nothing'])
    test.equal(confinable(name), undefined)
})
