import t from 'tap'
import { Damage, damageText } from '../../../storage/archive/damage.ts'

t.test('each place is reported once, and kept', async (t) => {
  const damage = new Damage()
  t.strictSame(damage.take(), [])
  for (const place of ['t0 1/1', 't0 2/1', 't0 1/1']) damage.report(place)
  t.strictSame(damage.take(), ['t0 1/1', 't0 2/1'])
  damage.report('t0 1/1')
  t.strictSame(damage.take(), [])
  t.strictSame(damage.places, ['t0 1/1', 't0 2/1'])
  for (let n = 0; n < 2_000; n++) damage.report(`t1 ${n}/1`)
  t.equal(damage.places.length, 1_000, 'their number is limited')
})

t.test('a line of the log names the first', async (t) => {
  t.equal(damageText([]), undefined)
  t.equal(damageText(['a']), 'a')
  t.equal(damageText(['a', 'b', 'c']), 'a and 2 more')
})
