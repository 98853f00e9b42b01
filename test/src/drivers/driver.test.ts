import t from 'tap'
import { EFFECTS } from '../../../src/drivers/driver.ts'

t.test('effects are listed from the cheapest to the most expensive', (t) => {
  t.strictSame(EFFECTS, ['runtime', 'reload', 'restart', 'network'])
  t.end()
})
