import t from 'tap'
import { isSameRow, PASSING, UNUSED, USED } from '../../../src/stats/same-row.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const USES = Uint8Array.of(USED, UNUSED, PASSING, USED)
/** Each behind other rows, so that neither begins where the other does. */
const same = (now: string, before: string, uses = USES) =>
  isSameRow(bytes(`x\n${now}\n`), 2, bytes(`yyy,z\n${before}\n`), 6, uses)

t.test('a row is compared in what is used of it', async (test) => {
  test.ok(same('a,1,2,b', 'a,1,2,b'))
  test.ok(same('a,1,2,b,9', 'a,1,2,b,8'), 'behind the last column that is used')
  test.ok(same('a,123,2,b', 'a,,2,b'), 'nobody is told of it')
  test.notOk(same('a,1,2,c', 'a,1,2,b'))
  test.notOk(same('ab,1,2,b', 'a,1,2,b'))
  test.notOk(same('a,1,2,', 'a,1,2,b'))
  test.notOk(same('a,1,2,b', 'a,1,2,bb'))
  test.ok(same('a', 'a'), 'a short row')
})

t.test('what passes may grow, and is a change when it begins anew', async (test) => {
  test.ok(same('a,1,100,b', 'a,1,99,b'))
  test.notOk(same('a,1,99,b', 'a,1,100,b'))
  test.notOk(same('a,1,2,c', 'a,1,1,b'))
})

t.test('a quoted field may hold what ends others', async (test) => {
  test.ok(same('a,"x, ""y"", z",2,b', 'a,"u",1,b'))
  test.notOk(same('a,"x, ""y"", z",2,b', 'a,"x, ""y"", z",2,c'))
  const used = Uint8Array.of(USED, USED)
  test.ok(same('a,"1,2",3', 'a,"1,2",4', used))
  test.notOk(same('a,"1,2",3', 'a,"1,3",3', used))
  test.notOk(same('a,"1",3', 'a,1,3', used))
})
