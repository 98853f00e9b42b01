import t from 'tap'
import { sameText } from '../../../src/base/same-text.ts'

t.test('texts are equal or not, whatever their length and letters', async (test) => {
  test.ok(sameText('', ''))
  test.ok(sameText('é🦊', 'é🦊'))
  for (const [a, b] of [
    ['', 'a'],
    ['abc', 'abd'],
    ['abc', 'ab'],
    ['é', 'ee'],
  ] as const)
    test.notOk(sameText(a, b), `${a} ${b}`)
})
