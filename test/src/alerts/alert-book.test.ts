import t from 'tap'
import { type Alert, AlertBook, type BookParts } from '../../../src/alerts/alert-book.ts'
import type { AlertRule } from '../../../src/model/alerts.ts'
import { alertRule } from '../../fixtures/alerts.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const DOWN = alertRule({ type: 'serverDown' })
const EVENT = alertRule({ type: 'event', events: ['node'] }, { id: 'rule-2' })

/** A book that is checked once a second, with its own clock. */
function fixture(rules: readonly AlertRule[] = [DOWN], more: Partial<BookParts> = {}, kept: readonly Alert[] = []) {
  const clock = manualClock()
  const book = new AlertBook(kept, { clock, isSilenced: () => false, isOurs: () => true, ...more })
  const byId = new Map(rules.map((rule) => [rule.id, rule]))
  /** Makes so many looks in which these objects match; returns the messages. */
  const look = (ids: readonly string[], seconds = 1, unknown: readonly AlertRule[] = [], of = rules[0] ?? DOWN) => {
    const told: string[] = []
    for (let second = 0; second < seconds; second++) {
      book.begin()
      for (const id of ids)
        book.met({
          rule: of,
          key: `7/server/${id}`,
          object: { type: 'server', id, name: id },
          value: second,
          text: `${id} is down`,
        })
      book.end(byId, new Set(unknown.map(({ id }) => id)))
      for (const { phase, alerts } of book.takeToTell())
        told.push(`${phase} ${alerts.map(({ object }) => object.id).join()}`)
      clock.advance(1_000)
    }
    return told
  }
  return { book, clock, look, byId }
}

t.test('a lasting condition fires once, is repeated, and is resolved when it has been over for a while', (test) => {
  const { look, book } = fixture()
  test.same(look(['a'], 30), [], 'not yet')
  test.same(look(['a']), ['firing a'])
  test.same(look(['a'], 3_599), [], 'no message is repeated at once')
  test.same(look(['a']), ['repeated a'])
  test.match(book.firing, [{ endedAt: null, since: '2026-01-02T03:04:05.000Z', toldAt_ms: Number }])
  test.same(look([], 60), [], 'it may come back')
  test.same(look([]), ['resolved a'])
  test.match([book.firing, book.ended], [[], [{ endedAt: String }]])
  test.end()
})

t.test('a repetition reports the current state', (test) => {
  const rule = alertRule({ type: 'certificateEnd' }, { for: 0, repeatEvery: 60 })
  const { book, clock, byId } = fixture([rule])
  const told = (text: string, value: number) => {
    book.begin()
    book.met({ rule, key: 'c', object: { type: 'certificate', id: 'c', name: 'c' }, value, text })
    book.end(byId, new Set())
    return book.takeToTell().flatMap(({ alerts }) => alerts.map((alert) => `${alert.text} ${alert.value}`))
  }
  test.same(told('c ends soon', 3), ['c ends soon 3'])
  clock.advance(60_000)
  test.same(told('c has ended', -1), ['c has ended -1'])
  test.match(book.firing, [{ text: 'c has ended', value: -1 }])
  test.end()
})

t.test('an intermittent condition is reported once', (test) => {
  const { look, book } = fixture()
  test.same(look(['a'], 20), [])
  test.same(look([]), [])
  test.same(look(['a'], 20), [], 'it starts again')
  look(['a'], 11)
  for (let times = 0; times < 50; times++) test.same([look([], 30), look(['a'], 2)], [[], []])
  test.equal(book.firing.length, 1)
  test.end()
})

t.test('alerts that fire in one look are one message', (test) => {
  const { look, book } = fixture()
  const ids = Array.from({ length: 1_000 }, (_, at) => `s${at}`)
  const [told = '', ...others] = look(ids, 31)
  test.equal(others.length, 0)
  test.equal(told.split(',').length, 1_000)
  test.equal(book.takeChanges().puts.length, 1_000)
  test.end()
})

t.test('of too many alerts the number is reported, and not each is kept', (test) => {
  const { look, book } = fixture()
  const ids = Array.from({ length: 2_500 }, (_, at) => `s${at}`)
  const [told = ''] = look(ids, 31)
  test.equal(told.split(',').length, 2_500)
  test.equal(book.firing.length, 2_000)
  test.equal(book.takeChanges().puts.length, 2_000)
  test.equal(look([], 61)[0]?.split(',').length, 2_500, 'and the end of all')
  test.end()
})

t.test('concurrent alerts are bounded, and the rest is counted', (test) => {
  const { book, look } = fixture([EVENT])
  look(Array.from({ length: 50_010 }, (_, at) => `e${at}`))
  test.equal(book.takeLeft(), 10)
  test.equal(book.takeLeft(), 0)
  test.end()
})

t.test('while the state is unknown, everything stays as it is', (test) => {
  const { look } = fixture()
  look(['a'], 31)
  test.same(look([], 600, [DOWN]), [])
  test.same(look([], 61), ['resolved a'])
  test.end()
})

t.test('an unknown state of one layer says nothing about the other', (test) => {
  const { look, book, byId } = fixture()
  look(['a'], 31)
  const passed = (unknown: string) => {
    for (let second = 0; second < 62; second++) {
      book.begin()
      book.end(byId, new Set([unknown]))
    }
    return book.firing.length
  }
  test.equal(passed(`${DOWN.id} 7`), 1, 'it belongs to layer 7')
  const { clock, ...other } = fixture()
  other.look(['a'], 31)
  for (let second = 0; second < 62; second++) {
    other.book.begin()
    other.book.end(other.byId, new Set([`${DOWN.id} 4`]))
    clock.advance(1_000)
  }
  test.equal(other.book.firing.length, 0)
  test.end()
})

t.test('a silence suppresses messages; alerts that still fire afterwards are reported then', (test) => {
  let isSilent = true
  const { look } = fixture([DOWN], { isSilenced: () => isSilent })
  test.same(look(['a'], 100), [])
  isSilent = false
  test.same(look(['a']), ['firing a'])
  isSilent = true
  test.same(look([], 100), [], 'nor is an end reported')
  isSilent = false
  test.same(look([]), ['resolved a'], 'which is reported when the silence is over')
  test.same(look([], 100), [], 'once')
  isSilent = true
  test.same([look(['b'], 100), look([], 100)], [[], []])
  isSilent = false
  test.same(look([]), [], 'nobody knows of an alert that a silence hid from its beginning to its end')
  test.end()
})

t.test('the end of an alert during a silence is reported after a restart, before the alert fires again', (test) => {
  const isSilenced = (): boolean => isSilent
  let isSilent = false
  const first = fixture([DOWN], { isSilenced })
  test.same(first.look(['a', 'b', 'c'], 31), ['firing a,b,c'])
  isSilent = true
  first.look(['c'], 61)
  const stored = new Map(first.book.takeChanges().puts.map(({ key, value }) => [key, value as Alert]))
  const again = fixture([DOWN], { isSilenced, isOurs: (_, { key }) => !key.endsWith('b') }, [...stored.values()])
  test.same(again.look(['a', 'c'], 31), [])
  isSilent = false
  test.same(again.look(['a', 'c']), ['resolved a', 'firing a'], 'another node reports the end of b')
  test.notOk(again.book.ended.some(({ isEndOwed }) => isEndOwed))
  isSilent = true
  again.look([], 61)
  const without = fixture([{ ...DOWN, resolve: false }], {}, again.book.ended)
  test.same(without.look([]), [], 'the rule no longer reports ends')
  test.end()
})

t.test('only alerts to be reported are checked against silences', (test) => {
  let asked = 0
  const isSilenced = ({ object }: { readonly object: { readonly id: string } }) => {
    asked++
    return object.id === 'b'
  }
  const { look } = fixture([alertRule({ type: 'serverDown' }, { for: 0, clearFor: 0, repeatEvery: 60 })], {
    isSilenced,
  })
  test.same([look(['a', 'b']), asked], [['firing a'], 2])
  test.same([look(['a', 'b'], 59), asked], [[], 2 + 59], 'b waits for the end of the silence')
  test.same([look(['a', 'b']), asked], [['repeated a'], 2 + 59 + 2])
  test.end()
})

t.test('this node reports what another node should have, when that one goes away in time', (test) => {
  let isOurs = false
  const { look } = fixture([DOWN], { isOurs: () => isOurs })
  test.same(look(['a'], 40), [], 'nine seconds ago')
  isOurs = true
  test.same(look(['a']), ['firing a'], 'it may not have been reported')
  isOurs = false
  look(['a', 'b'], 95)
  isOurs = true
  test.same(look(['a', 'b']), [], 'the other node has reported it')
  test.end()
})

t.test('events are reported at once, counted while they occur, and end silently', (test) => {
  const { look, book } = fixture([EVENT])
  test.same(look(['a']), ['firing a'])
  test.same(look(['a'], 20), [])
  test.match(book.firing, [{ count: 21 }])
  test.same(look([], 61), [])
  test.equal(book.ended.length, 1)
  test.same(look(['a']), ['firing a'], 'later it is another alert')
  test.end()
})

t.test('after a restart it knows the reported alerts', (test) => {
  const before = fixture()
  before.look(['a', 'b'], 31)
  const { look, book } = fixture([DOWN], {}, before.book.firing)
  test.equal(book.firing.length, 2)
  test.same(look(['a'], 60), [], 'it continues, and b is over')
  test.same(look(['a']), ['resolved b'])
  test.end()
})

t.test('an alert ends silently with its rule', (test) => {
  const { look, book, byId } = fixture()
  look(['a'], 31)
  byId.clear()
  test.same(look(['a']), [])
  test.match([book.firing, book.ended], [[], [{ endedAt: String }]])
  const again = fixture(
    [],
    {},
    book.ended.map((alert) => ({ ...alert, endedAt: null })),
  )
  again.look([])
  test.equal(again.book.firing.length, 0, 'also one of an earlier run')
  test.end()
})

t.test('ended alerts are kept for a week, in a limited number', (test) => {
  const { look, book, clock } = fixture([alertRule({ type: 'serverDown' }, { for: 0, clearFor: 0 })])
  const ids = Array.from({ length: 1_500 }, (_, at) => `s${at}`)
  look(ids)
  look([])
  test.equal(book.ended.length, 1_000)
  test.equal(book.takeChanges().removed.length, 500)
  clock.advance(8 * 86_400_000)
  look([])
  test.equal(book.ended.length, 0)
  test.end()
})

t.test('alerts know their messages', (test) => {
  const clock = manualClock()
  const rule = alertRule({ type: 'serverDown' }, { for: 0, clearFor: 0 })
  const book = new AlertBook([], { clock, isSilenced: () => false, isOurs: () => true })
  const rules = new Map([[rule.id, rule]])
  const tell = (isMet: boolean, messageId: string) => {
    book.begin()
    if (isMet) book.met({ rule, key: 'a', object: { type: 'server', id: 'a', name: 'a' }, value: null, text: 'a' })
    book.end(rules, new Set())
    for (const group of book.takeToTell()) book.noted(group, messageId)
  }
  tell(true, 'm1')
  test.match(book.firing, [{ messages: ['m1'] }])
  tell(false, 'm2')
  test.match(book.ended, [{ messages: ['m1', 'm2'] }])
  test.match(book.takeChanges().puts, [{ value: { messages: ['m1', 'm2'] } }])
  tell(true, 'm3')
  test.match([book.firing, book.ended], [[{ messages: ['m3'] }], [{ messages: ['m1', 'm2'] }]], 'another alert')
  test.end()
})

t.test('an unlisted alert is not written, whatever happens to it', (test) => {
  const { look, book } = fixture([alertRule({ type: 'serverDown' }, { for: 0, clearFor: 0, repeatEvery: 60 })])
  const ids = Array.from({ length: 2_100 }, (_, at) => `s${at}`)
  look(ids)
  test.equal(book.takeChanges().puts.length, 2_000)
  look(ids, 60)
  test.equal(book.takeChanges().puts.length, 2_000, 'reported again')
  look([])
  const { puts } = book.takeChanges()
  test.ok(puts.length === 1_000 && puts.every(({ value }) => Object(value).endedAt !== null), 'as many as are kept')
  test.end()
})
