import t from 'tap'
import { ObjectRegistry } from '../../../storage/archive/registry.ts'
import { RingWriter } from '../../../storage/archive/ring.ts'
import { ARCHIVE_OBJECTS_MAX, OBJECT_GONE_AFTER_S } from '../../../storage/limits.ts'

const S = 1_700_000_000

function begin(): { ring: RingWriter; registry: ObjectRegistry } {
  const ring = new RingWriter()
  ring.reset(S)
  return { ring, registry: new ObjectRegistry([], 1, ring) }
}

t.test('numbers are never reused, the same object keeps its own', async (t) => {
  const { registry } = begin()
  const a = registry.ensure('server', 'a', 'b', S)
  const again = registry.ensure('server', 'a', 'b', S + 1)
  const other = registry.ensure('server', 'a', 'c', S + 1)
  t.equal(a, again)
  t.strictSame([a?.id, other?.id, registry.nextId], [1, 2, 3])
  t.strictSame(
    registry.takeChanges().added.map(({ id }) => id),
    [1, 2],
  )
  t.equal(registry.takeChanges().added.length, 0)
})

t.test('a removed object gives up its place and gets one again when it is back', async (t) => {
  const { ring, registry } = begin()
  const a = registry.ensure('server', 'a', 'b', S)
  const b = registry.ensure('server', 'b', 'b', S)
  const later = S + OBJECT_GONE_AFTER_S
  ring.beginSecond(later - 1)
  ring.set(b?.slot ?? -1, later - 1, 0, 1)
  registry.noteSeen(ring, later - 1, later)
  registry.retire(later, 86_400)
  t.strictSame([a?.slot, a?.died_s, b?.died_s], [-1, S, undefined])
  t.strictSame(registry.takeChanges().removed, [1])
  const c = registry.ensure('server', 'c', 'b', later)
  t.strictSame([c?.slot, c?.id], [0, 3], 'the place is reused, the number is not')
  t.strictSame([registry.ensure('server', 'a', 'b', later)?.slot, a?.died_s], [2, undefined])
})

t.test(
  'an object gone for longer than a chunk is open costs nothing; one gone for longer than all tiers is forgotten',
  async (t) => {
    const { registry } = begin()
    const old = registry.ensure('server', 'old', 'b', S)
    registry.retire(S + OBJECT_GONE_AFTER_S, 3_600)
    t.strictSame(registry.active(), [old], 'its last chunk is still to be written')
    registry.retire(S + 3_600, 3_600)
    t.strictSame(registry.active(), [])
    registry.expire(S)
    t.strictSame(registry.objects, [old])
    registry.unsaved.clear()
    registry.expire(S + 1)
    t.strictSame([registry.objects, [...registry.expired], registry.takeChanges().forgotten], [[], [1], [1]])
    t.equal(registry.ensure('server', 'old', 'b', S + 9_000)?.id, 2, 'a new object of that name is another one')
  },
)

t.test('a clock that is set back by days: objects gone by then have open chunks again', async (t) => {
  const { registry } = begin()
  const gone = registry.ensure('server', 'gone', 'b', S)
  registry.retire(S + 3 * 86_400, 86_400)
  t.strictSame(registry.active(), [])
  registry.placeAgain(S + 3_600, 130)
  registry.stepBack(S + 3_600)
  t.strictSame(registry.active(), [gone], 'also for the chunks that are due before the check for removed objects')
})

t.test('beyond the cap objects are refused, which is reported', async (t) => {
  const { ring } = begin()
  const full = new ObjectRegistry([], 1, ring)
  // Places without a ring: the cap is about numbers.
  ring.own = () => undefined
  for (let i = 0; i < ARCHIVE_OBJECTS_MAX; i++) full.ensure('server', String(i), 'b', S)
  t.notOk(full.takeRefused())
  t.equal(full.ensure('server', 'one more', 'b', S), undefined)
  t.ok(full.takeRefused())
  t.ok(full.ensure('server', '5', 'b', S), 'existing ones stay')
})
