import t from 'tap'
import { createStatRows, scanStats } from '../../../src/drivers/haproxy/stats-csv.ts'
import { ProcessCounters } from '../../../storage/archive/increments.ts'
import { counterOrigin, InheritedCounters } from '../../../workers/archive/inheritance.ts'
import type { Intake } from '../../../workers/archive/process-answer.ts'

function origin(sessions: readonly number[], intake: Intake | undefined) {
  const rows = createStatRows()
  const lines = sessions.map((count, i) => `fe${i},FRONTEND,0,${count},0,0,0,`)
  const text = ['# pxname,svname,scur,stot,bin,bout,type,', ...lines, 'be,BACKEND,0,1000,0,0,1,', '', ''].join('\n')
  const bytes = new Uint8Array(Buffer.from(text))
  scanStats(bytes, rows)
  return counterOrigin({ pid: 1, uptime_s: 0, bytes, from: 0, intake }, rows)
}

t.test('more sessions than connections: this process has not counted them all', async (t) => {
  t.equal(origin([500], undefined), 'zero', 'a version that starts at zero, or a known process')
  t.equal(origin([10, 20], { accepted: 32, mayShare: false }), 'zero')
  t.equal(origin([10, 22], { accepted: 32, mayShare: false }), 'zero')
  t.equal(origin([10, 23], { accepted: 32, mayShare: false }), 'copied')
  t.equal(origin([10, 23], { accepted: 32, mayShare: true }), 'shared')
})

function polled(...values: readonly number[]): ProcessCounters {
  const counters = new ProcessCounters(1, false)
  poll(counters, ...values)
  return counters
}

function poll(counters: ProcessCounters, ...values: readonly number[]): void {
  counters.beginPoll(values.length)
  for (const [slot, value] of values.entries()) {
    for (let counter = 0; counter < 3; counter++) counters.increment(slot, counter, value)
    counters.see(slot)
  }
}

t.test('only certain counts of the new process', async (t) => {
  const predecessor = polled(100, 100, 100)
  const inherited = new InheritedCounters(predecessor, 3, 'copied')
  const shared = new InheritedCounters(predecessor, 3, 'shared')
  t.equal(inherited.increment(0, 0, 130), 30, 'the predecessor was not polled again')
  poll(predecessor, 110, 110, 110)
  t.equal(inherited.increment(0, 0, 130), 20, 'its later counts are added from its own poll')
  t.equal(shared.increment(0, 0, 130), 30, 'counts of both in one place')
  t.equal(inherited.increment(1, 1, 105), 0, 'dumped before it counted further')
  t.strictSame(inherited.increment(2, 2, 99), Number.NaN, 'an older dump, or none')
  t.strictSame(inherited.increment(3, 0, 50), Number.NaN, 'an object that the predecessor did not have')
  t.strictSame(
    new InheritedCounters(undefined, 3, 'copied').increment(0, 0, 50),
    Number.NaN,
    'the predecessor is unknown',
  )
})
