import t from 'tap'
import { applyBody, isOnlyOf, toldBy } from '../../../../src/ui/core/reviewed.ts'

const TERMS = { isMine: false, confirmWithin: 0, comment: '', isAccepted: false }

t.test('a change that others have edited as well is not mine, as in the API', async (test) => {
  test.ok(isOnlyOf({ by: 'ann@localhost', alsoBy: [] }, 'ann@localhost'))
  test.notOk(isOnlyOf({ by: 'ann@localhost', alsoBy: ['ben@localhost'] }, 'ann@localhost'))
  test.notOk(isOnlyOf({ by: 'ben@localhost', alsoBy: [] }, 'ann@localhost'))
})

t.test('an apply names the changes shown, so that later ones do not go live', async (test) => {
  const shown = [{ id: 'a' }, { id: 'b' }]
  test.same(applyBody(shown, TERMS), { changes: ['a', 'b'], refuseWarnings: true })
  test.same(applyBody(shown, { isMine: true, confirmWithin: 60, comment: 'why', isAccepted: true }), {
    changes: ['a', 'b'],
    confirmWithin: 60,
    comment: 'why',
  })
  const many = Array.from({ length: 10_001 }, (_, at) => ({ id: String(at) }))
  test.same(applyBody(many, { ...TERMS, isMine: true }), { mine: true, refuseWarnings: true })
  test.same(applyBody(many, { ...TERMS, isAccepted: true }), {})
})

t.test('the same warnings in another order are equal, others are not', async (test) => {
  const [one, two] = [
    { code: 'NO_SERVER_LEFT', message: 'shop has none' },
    { code: 'COOKIE_NOT_SECURE', message: 'shop' },
  ]
  test.equal(toldBy([one, two]), toldBy([two, one]))
  test.not(toldBy([one]), toldBy([one, two]))
  test.not(toldBy([one]), toldBy([{ ...one, message: 'store has none' }]))
})
