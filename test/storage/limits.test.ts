import t from 'tap'
import * as limits from '../../storage/limits.ts'
import { span_s, tierAt } from '../../storage/archive/tiers.ts'

t.test('the limits of the archive fit together', async (t) => {
  t.ok(limits.RING_ROWS > limits.RING_SERVED_S + limits.ARCHIVE_HEARTBEAT_S, 'room to write while a reader copies')
  t.ok(limits.RING_SERVED_S >= span_s(tierAt(1)), 'the open chunk of the first coarse tier is computed from the ring')
  t.ok(limits.TAIL_KEPT_S > span_s(tierAt(0)), 'the tail outlives the open chunk of every object')
  t.ok(
    limits.TAIL_KEPT_S + limits.CHUNKS_EVERY_S + limits.SECONDS_PER_COMMIT <= limits.RING_SERVED_S,
    'seconds of open chunks are in the ring until they are stored',
  )
  t.ok(limits.BASELINE_EVERY_S * 2 <= limits.TAIL_KEPT_S, 'increments since a stored copy are in the tail')
  t.ok(limits.OBJECT_GONE_AFTER_S > limits.RING_ROWS, 'a place in the ring is empty when it is given away')
})
