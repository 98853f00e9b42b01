import { Compile } from 'typebox/compile'
import t from 'tap'
import { EVENT_KINDS, Job } from '../../../src/model/job.ts'

const JOB = {
  id: '0198c0de-0000-7000-8000-000000000001',
  kind: 'update',
  title: 'Software update',
  state: 'running',
  progress: null,
  step: '',
  log: [],
  result: null,
  problem: null,
  by: 'a@b',
  startedAt: '2026-01-02T03:04:05.000Z',
  endedAt: null,
  canCancel: false,
}

t.test('a job is running or ended in one of three ways, and its progress is a percentage or unknown', async (test) => {
  const fits = (more: object) => Compile(Job).Check({ ...JOB, ...more })
  test.ok(fits({}))
  for (const state of ['succeeded', 'failed', 'cancelled']) test.ok(fits({ state }), state)
  test.notOk(fits({ state: 'lost' }))
  test.ok(fits({ progress: 100 }))
  test.notOk(fits({ progress: 101 }))
  test.ok(fits({ problem: { code: 'INTERNAL', message: 'no' } }))
  test.notOk(fits({ problem: 'no' }))
  test.ok(fits({ resourceId: 'r1' }), 'the record that it concerns, if it is a single one')
})

t.test('kinds of events are words that a stream can select', async (test) => {
  for (const kind of EVENT_KINDS) test.match(kind, /^[a-zA-Z]+$/)
  test.equal(new Set(EVENT_KINDS).size, EVENT_KINDS.length)
})
