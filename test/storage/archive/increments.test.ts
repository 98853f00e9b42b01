import t from 'tap'
import { ProcessCounters } from '../../../storage/archive/increments.ts'
import { COUNTER_COUNT } from '../../../storage/archive/tiers.ts'

function poll(counters: ProcessCounters, values: Readonly<Record<number, number>>): Record<string, number> {
  counters.beginPoll(4)
  const increments: Record<string, number> = {}
  for (const [slot, value] of Object.entries(values)) {
    for (let counter = 0; counter < COUNTER_COUNT; counter++) {
      increments[slot] = counters.increment(Number(slot), counter, value)
    }
    counters.see(Number(slot))
  }
  return increments
}

t.test('a process of unknown age starts with a baseline, a fresh one counts from zero', async (t) => {
  t.ok(Number.isNaN(poll(new ProcessCounters(1, false), { 0: 100 })['0']))
  t.equal(poll(new ProcessCounters(1, true), { 0: 100 })['0'], 100)
})

t.test('difference, unchanged, cleared, empty', async (t) => {
  const counters = new ProcessCounters(1, false)
  poll(counters, { 0: 100 })
  t.equal(poll(counters, { 0: 130 })['0'], 30)
  t.equal(poll(counters, { 0: 130 })['0'], 0)
  t.ok(Number.isNaN(poll(counters, { 0: 7 })['0']))
  t.equal(poll(counters, { 0: 9 })['0'], 2)
  t.ok(Number.isNaN(poll(counters, { 0: Number.NaN })['0']), 'no value in the answer')
  t.ok(Number.isNaN(poll(counters, { 0: 12 })['0']), 'nothing to compare it with')
})

t.test('no 32-bit wrap: a smaller value never counts as an overflow', async (t) => {
  const counters = new ProcessCounters(1, false)
  poll(counters, { 0: 2 ** 32 - 1 })
  t.ok(Number.isNaN(poll(counters, { 0: 5 })['0']))
  t.equal(poll(counters, { 0: 2 ** 40 })['0'], 2 ** 40 - 5)
})

t.test('an object that was away for a poll counts from zero again', async (t) => {
  const counters = new ProcessCounters(1, false)
  poll(counters, { 0: 100, 1: 5 })
  poll(counters, { 0: 100 })
  t.ok(Number.isNaN(counters.valueNow(1, 0)))
  t.equal(poll(counters, { 0: 100, 1: 3 })['1'], 3)
  t.equal(counters.valueOf(1, 0), 3)
})

t.test('restored counters are the previous poll', async (t) => {
  const counters = new ProcessCounters(1, false)
  counters.restore(3, (slot) => (slot === 2 ? 40 : undefined))
  const increments = poll(counters, { 0: 10, 2: 45 })
  t.strictSame([increments['0'], increments['2']], [Number.NaN, 5], 'an unknown one is not new')
})
