import t from 'tap'
import { Mirror } from '../../../storage/config/mirror.ts'
import type { OverlayEntry } from '../../../storage/config/store-state.ts'

const at = (key: string, scope = '', section = 'things') => ({ section, scope, key })
const stored = (value: unknown, revision = 1) => ({ value, revision })

/** An overlay entry; without a value it is a tombstone. */
function entry(key: string, revision: number, value?: unknown, scope = '', section = 'things'): OverlayEntry {
  const origin = { actor: 'tester', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
  const record = value === undefined ? undefined : stored(value, revision)
  return { ...at(key, scope, section), ...origin, changeId: `change-${key}`, revision, stored: record }
}

function fixture() {
  const mirror = new Mirror()
  const values = (side: 'running' | 'candidate', scope = '') =>
    mirror[side].list('things', scope).map(({ value }) => value)
  const overlay = (made: OverlayEntry) => mirror.setOverlay(made, made)
  return { mirror, values, overlay }
}

t.test('an empty mirror knows nothing', async (test) => {
  const { mirror, values } = fixture()
  for (const side of ['running', 'candidate'] as const) {
    test.equal(mirror[side].get('things', '', 'a'), undefined)
    test.same(values(side), [])
  }
  test.same(mirror.changes(), [])
  test.equal(mirror.overlayEntry(at('a')), undefined)
})

t.test('a follower learns which running record has changed, or that all may have', async (test) => {
  const { mirror } = fixture()
  const told: unknown[] = []
  mirror.follow((key) => told.push(key, mirror.running.list('things', '').length))
  mirror.setRunning(at('a'), stored('a'))
  mirror.setRunning(at('a'), undefined)
  mirror.setOverlay(at('b'), entry('b', 1, 'b'))
  mirror.load({ running: ['a', 'b'].map((key) => ({ ...at(key), stored: stored(key) })), candidate: [] })
  test.same(told, [at('a'), 1, at('a'), 0, undefined, 2])
})

t.test('without an overlay the candidate is running', async (test) => {
  const { mirror, values } = fixture()
  for (const key of ['c', 'a', 'b']) mirror.setRunning(at(key), stored(key))
  test.same(values('running'), ['a', 'b', 'c'], 'ordered by key')
  test.same(values('candidate'), ['a', 'b', 'c'])
  test.equal(mirror.candidate.get('things', '', 'a'), mirror.running.get('things', '', 'a'))
})

t.test('the overlay adds, replaces and hides; running stays as it is', async (test) => {
  const { mirror, values, overlay } = fixture()
  for (const key of ['a', 'c', 'd']) mirror.setRunning(at(key), stored(key))
  overlay(entry('b', 5, 'new'))
  overlay(entry('c', 6, 'changed'))
  overlay(entry('d', 7))
  test.same(values('candidate'), ['a', 'new', 'changed'])
  test.same(values('running'), ['a', 'c', 'd'])
  test.same(mirror.candidate.get('things', '', 'c'), stored('changed', 6))
  test.equal(mirror.candidate.get('things', '', 'd'), undefined, 'hidden')
  test.equal(mirror.candidate.get('things', '', 'a')?.value, 'a')
})

t.test('removing an entry of the overlay shows running again', async (test) => {
  const { mirror, values, overlay } = fixture()
  mirror.setRunning(at('a'), stored('a'))
  overlay(entry('a', 5))
  test.same(values('candidate'), [])
  mirror.setOverlay(at('a'), undefined)
  test.same(values('candidate'), ['a'])
  test.same(mirror.changes(), [])
  mirror.setRunning(at('a'), undefined)
  test.same(values('running'), [])
})

t.test('scopes and sections are separate, also when names run into each other', async (test) => {
  const { mirror, values, overlay } = fixture()
  mirror.setRunning(at('b', 'a'), stored('scope a, key b'))
  mirror.setRunning(at('ab'), stored('key ab'))
  mirror.setRunning(at('x', '', 'others'), stored('elsewhere'))
  overlay(entry('b', 5, 'of the cluster'))
  test.same(values('candidate'), ['key ab', 'of the cluster'])
  test.same(values('candidate', 'a'), ['scope a, key b'])
  test.equal(mirror.running.get('things', '', 'b'), undefined)
  test.equal(mirror.running.get('others', '', 'ab'), undefined)
  test.same(
    mirror.candidate.list('others', '').map(({ value }) => value),
    ['elsewhere'],
  )
})

t.test('changes are the overlay, oldest first over all sections, each with both sides', async (test) => {
  const { mirror, overlay } = fixture()
  mirror.setRunning(at('a'), stored('old', 1))
  overlay(entry('b', 9, 'late'))
  overlay(entry('x', 7, 'middle', '', 'others'))
  overlay(entry('a', 5))
  test.same(
    mirror.changes().map(({ id, before, after }) => [id, before?.value, after?.value]),
    [
      ['change-a', 'old', undefined],
      ['change-x', undefined, 'middle'],
      ['change-b', undefined, 'late'],
    ],
  )
  test.match(mirror.changes()[1], { section: 'others', scope: '', key: 'x', actor: 'tester', endpoint: 'test' })
  mirror.setRunning(at('b'), stored('early', 2))
  test.same(mirror.changes()[2]?.before, stored('early', 2), 'before is the running one')
})

t.test('lists are ordered by code unit, not by language', async (test) => {
  const { mirror, values } = fixture()
  for (const key of ['b', 'B', 'ä', '10', '9', 'a']) mirror.setRunning(at(key), stored(key))
  test.same(values('running'), ['10', '9', 'B', 'a', 'b', 'ä'])
})

t.test('after a promotion settled changes are dropped, and reversals appear where nothing is pending', async (test) => {
  const { mirror, overlay } = fixture()
  overlay(entry('settled', 1, 'x'))
  overlay(entry('later', 2, 'newer'))
  const [settled, later] = mirror.changes()
  if (settled === undefined || later === undefined) throw new Error('nothing is pending')
  const origin = { actor: 'ann', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
  const again = [
    { ...at('back'), ...origin, changeId: 'b', value: 'made' },
    { ...at('gone'), ...origin, changeId: 'g', value: undefined },
    { ...at('later'), ...origin, changeId: 'l', value: 'older' },
  ]
  let next = 10
  const done = mirror.afterPromotion([settled, { ...later, after: stored('older') }], again, () => (next += 1))
  test.match(
    done.map(([{ key }, made]) => [key, made?.changeId, made?.actor, made?.stored]),
    [
      ['settled', undefined],
      ['back', 'b', 'ann', { value: 'made', revision: 11 }],
      ['gone', 'g', 'ann', undefined],
    ],
  )
})
