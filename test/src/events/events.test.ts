import t from 'tap'
import { type Event, Events } from '../../../src/events/events.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('an event is sent once it is on the disk, and numbers continue after a restart', async (test) => {
  const store = openStore(test)
  const events = new Events(store.events, manualClock(), silentLog)
  const told: Event[] = []
  const stop = events.subscribe((event) => {
    test.ok(
      store.events.entries().some(({ value }) => (value as Event).id === event.id),
      'stored before it is sent',
    )
    told.push(event)
  })
  events.publish('apply', { state: 'applied', revision: 1 })
  events.publish('job', { state: 'running', id: 'a' })
  test.same(told, [], 'not yet')
  await events.stored()
  test.match(told, [
    { id: 1, kind: 'apply', at: '2026-01-02T03:04:05.000Z', data: { revision: 1 } },
    { id: 2, kind: 'job' },
  ])
  stop()
  const again = new Events(store.events, manualClock(), silentLog)
  again.publish('node', { state: 'started' })
  await again.close()
  test.equal(told.length, 2, 'an unsubscribed listener gets nothing')
  test.same(
    again.after(1)?.map(({ id }) => id),
    [2, 3],
  )
  test.same(again.after(3), [])
  test.equal(again.after(4), undefined, 'a number that was never assigned')
})

t.test('a limited number is kept; a client that missed more is told so', async (test) => {
  const store = openStore(test)
  const events = new Events(store.events, manualClock(), silentLog)
  for (let i = 0; i < 5_050; i++) events.publish('realServer', { state: 'up', i })
  await events.stored()
  events.publish('realServer', { state: 'up', i: 'last' })
  await events.stored()
  test.equal(store.events.entries().length, 5_000)
  test.equal(events.after(10), undefined)
  test.equal(events.after(51)?.length, 5_000)
  test.equal(new Events(store.events, manualClock(), silentLog).lastId, 5_051)
})

t.test('when the disk is full, events are sent all the same', async (test) => {
  const table = { ...openStore(test).events, write: async () => Promise.reject(new Error('no room')) }
  const events = new Events(table, manualClock(), silentLog)
  const told: Event[] = []
  events.subscribe((event) => told.push(event))
  events.publish('node', { state: 'started' })
  await events.stored()
  test.equal(told.length, 1)
})

t.test('events that a disk refused are on it with the next one', async (test) => {
  const { events: table } = openStore(test)
  const disk = { takes: true }
  const write: typeof table.write = async (...rows) => {
    if (!disk.takes) throw new Error('the disk is full')
    return table.write(...rows)
  }
  const events = new Events({ ...table, write }, manualClock(), silentLog)
  const publish = (revision: number) => {
    events.publish('apply', { state: 'applied', revision })
    return events.stored()
  }
  await publish(1)
  disk.takes = false
  await publish(2)
  await publish(3)
  disk.takes = true
  await publish(4)
  const again = new Events(table, manualClock(), silentLog)
  test.same(
    again.after(1)?.map(({ id, data }) => [id, data]),
    [2, 3, 4].map((id) => [id, { state: 'applied', revision: id }]),
  )
})

t.test('a subscriber that fails stops no other, now and later', async (test) => {
  const problems: string[] = []
  const log = { ...silentLog, error: (message: string) => void problems.push(message) }
  const events = new Events(openStore(test).events, manualClock(), log)
  const told: number[] = []
  events.subscribe(() => {
    throw new Error('broken')
  })
  events.subscribe(({ id }) => told.push(id))
  events.publish('node', { state: 'started' })
  await events.stored()
  events.publish('node', { state: 'stopping' })
  await events.close()
  test.same(told, [1, 2])
  test.same(problems, ['defect', 'defect'])
})
