import t from 'tap'
import { cutText } from '../../../src/base/cut-text.ts'

t.test('a text is cut between characters', (test) => {
  test.equal(cutText('a😀', 4), 'a😀')
  test.equal(cutText('a😀', 3), 'a😀')
  test.equal(cutText('a😀', 2), 'a')
  test.equal(cutText('abc', 2), 'ab')
  test.equal(cutText('', 2), '')
  test.end()
})
