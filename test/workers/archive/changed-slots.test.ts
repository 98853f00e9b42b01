import t from 'tap'
import { ChangedSlots } from '../../../workers/archive/changed-slots.ts'

t.test('initially all have changed; then the added ones, until they are cleared', async (t) => {
  const changed = new ChangedSlots()
  t.equal(changed.has(70), true)
  changed.room(1)
  changed.clear()
  changed.add(0)
  changed.room(100)
  t.strictSame([changed.has(0), changed.has(70)], [true, false], 'kept when there is more room')
  changed.add(70)
  t.equal(changed.has(70), true)
  changed.clear()
  t.strictSame([changed.has(0), changed.has(70)], [false, false])
  changed.addAll()
  t.equal(changed.has(70), true)
})
