import t from 'tap'
import { isOurs, writtenHere } from '../../../src/drivers/fragment.ts'

t.test('a file of this daemon begins with a note, ends with a newline and is recognised', async (test) => {
  const text = writtenHere(['a = 1', 'b = 2'])
  test.match(text, /^# .*\na = 1\nb = 2\n$/)
  test.ok(isOurs(text))
  test.notOk(isOurs('# written by somebody\n'))
  test.notOk(isOurs(''))
})
