import t from 'tap'
import { NUMBERS, TEXTS } from '../../../storage/logs/row.ts'
import { logRow } from '../../fixtures/log-rows.ts'

t.test('every field of a row has its column', async (test) => {
  test.strictSame([...NUMBERS, ...TEXTS].toSorted(), Object.keys(logRow()).toSorted())
})
