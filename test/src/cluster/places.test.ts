import fc from 'fast-check'
import t from 'tap'
import {
  BASE,
  baseName,
  GUARD,
  LOG_SPAN,
  logName,
  logUpTo,
  partName,
  partsOf,
  partsUpTo,
  positionOf,
} from '../../../src/cluster/places.ts'

const POSITION = fc.integer({ min: 0, max: 999_999_999_998 })
const isIn = ({ from, before }: { readonly from: string; readonly before: string }, name: string) =>
  name >= from && name < before

t.test('names are those that other versions use', async (t) => {
  t.equal(GUARD, '/f/seq')
  t.equal(BASE, '/f/base')
  t.equal(logName(42), '/f/log/000000000042')
  t.equal(baseName(1_000), '/f/base/000000001000')
  t.equal(partName(42, 'abc', 7), '/f/part/000000000042/abc/0007')
  t.same(partsOf(42, 'abc'), { prefix: '/f/part/000000000042/abc/' })
})

t.test('names of the log sort as their numbers, and contain them', async () => {
  fc.assert(
    fc.property(POSITION, POSITION, (a, b) => {
      if (positionOf(logName(a)) !== a) return false
      return logName(a) < logName(b) === a < b
    }),
  )
})

t.test('old names are one span, without young ones', async () => {
  fc.assert(
    fc.property(POSITION, POSITION, fc.string(), (position, up, id) => {
      const isOld = position <= up
      const part = partName(position, id, 3)
      return isIn(logUpTo(up), logName(position)) === isOld && isIn(partsUpTo(up), part) === isOld
    }),
  )
})

t.test('the span of the log has all entries and nothing else', async (t) => {
  t.ok(isIn(LOG_SPAN, logName(0)) && isIn(LOG_SPAN, logName(999_999_999_999)))
  for (const name of [GUARD, BASE, partName(1, 'a', 0)]) t.notOk(isIn(LOG_SPAN, name), name)
})

t.test('a name that is not that of an entry is refused', async (t) => {
  for (const name of ['', GUARD, '/f/log/', '/f/log/1', `${logName(1)}0`, '/f/log/00000000001x', '/f/lo/000000000001'])
    t.throws(() => positionOf(name), TypeError, name)
})
