import t from 'tap'
import { type Kept, Outbox } from '../../../src/alerts/outbox.ts'
import type { Put } from '../../../storage/config/config-store.ts'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { AlertMessage, Sent } from '../../../src/model/alerts.ts'
import { alertMessage } from '../../fixtures/alert-targets.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { untilHolds } from '../../fixtures/until.ts'

type Send = ConstructorParameters<typeof Outbox>[2]['send']

/** An outbox over rows in memory, from which the next one may start. */
function fixture(send: Send, rows = new Map<string, unknown>(), clock = manualClock()) {
  const table = {
    async write(puts: readonly Put[], removed: readonly string[]) {
      for (const key of removed) rows.delete(key)
      for (const { key, value } of puts) rows.set(key, value)
    },
  }
  const of = (prefix: string) => [...rows].filter(([key]) => key.startsWith(prefix))
  const kept = of('m').map(([, value]) => value as Kept)
  const dropped = new Map(of('d').map(([key, value]) => [key.slice(1), Number(value)]))
  const outbox = new Outbox(kept, dropped, { table, send, clock, log: silentLog })
  const add = async (count: number, targets = ['a'], at = new Date(clock.now_ms()).toISOString()) => {
    const messages = Array.from({ length: count }, (_, number) => ({
      message: alertMessage({ id: `m${rows.size}-${number}`, at }),
      targets,
    }))
    const { made, puts } = outbox.rowsFor(messages)
    await table.write(puts, [])
    outbox.added(made)
    return messages.map(({ message }) => message.id)
  }
  return { outbox, rows, add, clock }
}
const TAKEN = async (_: string, messages: readonly AlertMessage[]): Promise<Sent> => ({
  taken: messages.length,
  failure: undefined,
})
const REFUSED: Sent = { taken: 0, failure: { stage: 'send', reason: 'no' } }

t.test('messages are sent in order, and their results are stored', async (test) => {
  const sent: string[] = []
  const { outbox, add, rows } = fixture(async (targetId, messages) => {
    sent.push(...messages.map(({ id }) => id))
    return TAKEN(targetId, messages)
  })
  const ids = await add(50)
  await untilHolds(() => outbox.queue('a')?.delivered === 50)
  test.same(sent, ids)
  test.match(outbox.message(ids[0] ?? ''), { targets: { a: { outcome: 'delivered' } } })
  test.equal(rows.size, 50)
})

t.test('a target that hangs delays no other one', async (test) => {
  const { outbox, add } = fixture((targetId, messages) =>
    targetId === 'slow' ? new Promise<Sent>(() => undefined) : TAKEN(targetId, messages),
  )
  await add(3, ['slow', 'fast'])
  await untilHolds(() => outbox.queue('fast')?.delivered === 3)
  test.equal(outbox.queue('slow')?.waiting.length, 3)
  await outbox.close(Promise.resolve())
})

t.test('a message that was not accepted is retried, before all later ones', async (test) => {
  const tried: string[][] = []
  const { outbox, add } = fixture(async (targetId, messages) => {
    tried.push(messages.map(({ id }) => id))
    if (tried.length === 1) return { taken: 1, failure: { stage: 'send', reason: 'busy' } }
    return TAKEN(targetId, messages)
  })
  const ids = await add(3)
  await untilHolds(() => outbox.queue('a')?.nextTry_ms !== undefined)
  test.match(outbox.queue('a'), { failures: 1, lastError: 'busy', delivered: 1 })
  await untilHolds(() => outbox.queue('a')?.delivered === 3)
  test.same(tried, [ids, ids.slice(1)])
  test.match(outbox.queue('a'), { failures: 0, lastError: null })
})

t.test('recipients who have a message are known at its next tries, and at no other message', async (test) => {
  const known: (readonly string[])[] = []
  const failures = [{ having: ['b'] }, {}, { having: ['b', 'c'] }]
  const { outbox, add } = fixture(async (targetId, messages, having) => {
    known.push(having)
    const failure = failures[known.length - 1]
    if (failure !== undefined) return { taken: 0, failure: { stage: 'send', reason: 'busy', ...failure } }
    return known.length === 4 ? { taken: 1, failure: undefined } : TAKEN(targetId, messages)
  })
  await add(2)
  for (const tries of [1, 2, 3]) {
    await untilHolds(() => known.length === tries && outbox.queue('a')?.nextTry_ms !== undefined)
    outbox.wake(() => false)
  }
  await untilHolds(() => outbox.queue('a')?.delivered === 2)
  test.same(known, [[], ['b'], ['b'], ['b', 'c'], []])
})

t.test('a target that names a time is asked then', async (test) => {
  const { outbox, add, clock } = fixture(async () => ({
    taken: 0,
    failure: { stage: 'send', reason: '429', retryAfter_s: 120 },
  }))
  await add(1)
  await untilHolds(() => outbox.queue('a')?.nextTry_ms !== undefined)
  const named_ms = clock.now_ms() + 120_000
  test.equal(outbox.queue('a')?.nextTry_ms, named_ms)
  outbox.wake(() => false)
  test.equal(outbox.queue('a')?.nextTry_ms, named_ms, 'also after changes of others')
  outbox.wake((id) => id === 'a')
  test.equal(outbox.queue('a')?.nextTry_ms, undefined, 'but not after its own')
  await outbox.close(Promise.resolve())
})

t.test('a refused message is given up and counted, and others continue', async (test) => {
  let times = 0
  const { outbox, add, rows } = fixture(async (targetId, messages) =>
    ++times === 1 ? { taken: 0, failure: { stage: 'send', reason: '400', isFinal: true } } : TAKEN(targetId, messages),
  )
  const [first = ''] = await add(3)
  await untilHolds(() => outbox.queue('a')?.delivered === 2)
  test.equal(outbox.queue('a')?.dropped, 1)
  test.match(outbox.message(first), { targets: { a: { outcome: 'dropped', reason: '400' } } })
  test.match(fixture(TAKEN, rows).outbox.queue('a'), { dropped: 1 }, 'also after a restart')
})

t.test('waiting messages are sent by the next start', async (test) => {
  const { add, rows, outbox } = fixture(() => new Promise<Sent>(() => undefined))
  const ids = await add(5)
  await outbox.close(Promise.resolve())
  const sent: string[] = []
  const next = fixture(async (targetId, messages) => {
    sent.push(...messages.map(({ id }) => id))
    return TAKEN(targetId, messages)
  }, rows)
  next.outbox.wake()
  await untilHolds(() => next.outbox.queue('a')?.delivered === 5)
  test.same(sent, ids, 'under the same ids')
})

t.test('waiting messages are limited in number and age, and none is lost silently', async (test) => {
  let answer: Sent = REFUSED
  const { outbox, add, clock } = fixture(async (targetId, messages) =>
    answer.failure === undefined ? TAKEN(targetId, messages) : answer,
  )
  await add(1_500)
  await untilHolds(() => outbox.queue('a')?.nextTry_ms !== undefined)
  test.match(outbox.queue('a'), { dropped: 500 })
  test.equal(outbox.queue('a')?.waiting.length, 1_000)
  clock.advance(86_400_001)
  await add(1)
  answer = { taken: 0, failure: undefined }
  outbox.wake()
  await untilHolds(() => outbox.queue('a')?.delivered === 1)
  test.equal(outbox.queue('a')?.dropped, 1_500)
})

t.test('a clock that is set ahead ages nothing', async (test) => {
  let [isRefused, ahead_ms] = [true, 0]
  const clock = manualClock()
  const { outbox, add } = fixture(
    async (targetId, messages) => (isRefused ? REFUSED : TAKEN(targetId, messages)),
    undefined,
    { ...clock, now_ms: () => clock.now_ms() + ahead_ms },
  )
  await add(3)
  await untilHolds(() => outbox.queue('a')?.nextTry_ms !== undefined)
  ahead_ms = 5 * 365 * 86_400_000
  isRefused = false
  outbox.wake()
  await untilHolds(() => outbox.queue('a')?.waiting.length === 0)
  test.match(outbox.queue('a'), { delivered: 3, dropped: 0 })
})

t.test('a message that a target accepts while the daemon ends is not sent again', async (test) => {
  const taken = defer<Sent>()
  const { outbox, add, rows } = fixture(() => taken.promise)
  await add(2)
  const closed = outbox.close(new Promise(() => undefined))
  taken.resolve({ taken: 1, failure: { stage: 'send', reason: 'no' } })
  await closed
  test.match(
    [...rows.values()],
    [{ targets: { a: { outcome: 'delivered' } } }, { targets: { a: { outcome: 'waiting' } } }],
  )
  test.equal(outbox.queue('a')?.timer, undefined, 'nothing is retried')
})

t.test('no message waits for a target that is off or deleted', async (test) => {
  const { outbox, add } = fixture(async () => undefined)
  await add(2)
  await untilHolds(() => outbox.queue('a')?.dropped === 2)
  test.same(outbox.queue('a')?.waiting, [])
})

t.test('of a deleted target nothing is kept, unless messages are still on their way', async (test) => {
  const { outbox, add, rows } = fixture(async (id) => (id === 'gone' ? undefined : REFUSED))
  await add(1, ['gone', 'owing', 'there'])
  await untilHolds(() => outbox.queue('gone')?.dropped === 1 && outbox.queue('owing')?.nextTry_ms !== undefined)
  await untilHolds(() => outbox.queue('gone')?.isBusy === false)
  test.ok(rows.has('dgone'))
  test.same(
    outbox.forget((id) => id === 'there'),
    ['dgone'],
  )
  test.same(
    [outbox.queue('gone'), outbox.queue('owing')?.waiting.length, outbox.queue('there')?.waiting.length],
    [undefined, 1, 1],
  )
  await outbox.close(Promise.resolve())
})

t.test('a message whose result cannot be stored is sent again', async (test) => {
  let [isFull, times] = [false, 0]
  const rows = new Map<string, unknown>()
  const clock = manualClock()
  const table = {
    write: async () => {
      if (isFull) throw new Error('disk full')
    },
  }
  const send: Send = async (targetId, messages) => {
    times++
    return TAKEN(targetId, messages)
  }
  const outbox = new Outbox([], new Map(), { table, send, clock, log: silentLog })
  const { made } = outbox.rowsFor([{ message: alertMessage(), targets: ['a'] }])
  isFull = true
  outbox.added(made)
  await untilHolds(() => outbox.queue('a')?.nextTry_ms !== undefined)
  test.match(outbox.queue('a'), { lastError: /disk full/, delivered: 0 })
  isFull = false
  await untilHolds(() => outbox.queue('a')?.delivered === 1)
  test.equal(times, 2)
  test.equal(rows.size, 0)
})

t.test('of finished messages, a limited number is kept', async (test) => {
  const { outbox, add, rows } = fixture(TAKEN)
  await add(1_000)
  await untilHolds(() => outbox.queue('a')?.delivered === 1_000)
  await add(200)
  await untilHolds(() => outbox.queue('a')?.delivered === 1_200)
  test.ok(rows.size <= 1_000, String(rows.size))
})
