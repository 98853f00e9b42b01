import t from 'tap'
import { reasonOf } from '../../../src/base/reason.ts'

t.test('the reason of an error is its message, that of anything else its text', async (test) => {
  test.equal(reasonOf(new TypeError('x')), 'x')
  test.equal(reasonOf('y'), 'y')
  test.equal(reasonOf(undefined), 'undefined')
})
