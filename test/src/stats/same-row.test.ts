import t from 'tap'
import { isSameRow, PASSING, UNUSED, USED } from '../../../src/stats/same-row.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const USES = Uint8Array.of(USED, UNUSED, PASSING, USED)
/** Each after other rows, so that they begin at different offsets. */
const same = (now: string, before: string, uses = USES) =>
  isSameRow(bytes(`x\n${now}\n`), 2, bytes(`yyy,z\n${before}\n`), 6, uses)

t.test('only the used part of a row is compared', async (test) => {
  test.ok(same('a,1,2,b', 'a,1,2,b'))
  test.ok(same('a,1,2,b,9', 'a,1,2,b,8'), 'after the last used column')
  test.ok(same('a,123,2,b', 'a,,2,b'), 'it is not shown')
  test.notOk(same('a,1,2,c', 'a,1,2,b'))
  test.notOk(same('ab,1,2,b', 'a,1,2,b'))
  test.notOk(same('a,1,2,', 'a,1,2,b'))
  test.notOk(same('a,1,2,b', 'a,1,2,bb'))
  test.ok(same('a', 'a'), 'a short row')
})

t.test('elapsed time may grow, and is a change when it restarts', async (test) => {
  test.ok(same('a,1,100,b', 'a,1,99,b'))
  test.notOk(same('a,1,99,b', 'a,1,100,b'))
  test.notOk(same('a,1,2,c', 'a,1,1,b'))
})

t.test('a quoted field may hold separators', async (test) => {
  test.ok(same('a,"x, ""y"", z",2,b', 'a,"u",1,b'))
  test.notOk(same('a,"x, ""y"", z",2,b', 'a,"x, ""y"", z",2,c'))
  const used = Uint8Array.of(USED, USED)
  test.ok(same('a,"1,2",3', 'a,"1,2",4', used))
  test.notOk(same('a,"1,2",3', 'a,"1,3",3', used))
  test.notOk(same('a,"1",3', 'a,1,3', used))
})
