import t from 'tap'
import { later, refuseUnserved } from '../../../src/api/not-served.ts'
import { refusalOf } from '../../fixtures/config.ts'

t.test('what asks for nothing is accepted', async (test) => {
  refuseUnserved({ a: undefined, b: null, c: false, d: '', e: [], f: {} })
  refuseUnserved({})
  test.match(later('Rules.'), { description: 'Rules. Not served yet.' })
})

t.test('everything else is refused, each field by name', async (test) => {
  const error = await refusalOf(() => refuseUnserved({ a: 0, b: true, c: null, d: 'x', e: [null], f: { g: null } }))
  test.equal(error.code, 'INVALID_BODY')
  test.match(error.message, 'does not serve a, b, d, e, f yet')
  const errors = error.details.errors ?? []
  test.same(
    errors.map(({ field }) => field),
    ['a', 'b', 'd', 'e', 'f'],
  )
  test.ok(errors.every(({ code }) => code === 'NOT_SERVED_YET'))
})
