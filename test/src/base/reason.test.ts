import t from 'tap'
import { reasonOf } from '../../../src/base/reason.ts'

t.test('an error says its message, anything else itself', async (test) => {
  test.equal(reasonOf(new TypeError('x')), 'x')
  test.equal(reasonOf('y'), 'y')
  test.equal(reasonOf(undefined), 'undefined')
})
