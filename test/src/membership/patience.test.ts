import t from 'tap'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { patiently } from '../../../src/membership/patience.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('refusals of etcd are retried, and nothing else', async (t) => {
  const clock = manualClock()
  const waiting = { clock, wait: async (ms: number) => clock.advance(ms) }
  let tries = 0
  const failing = (times: number, error: Error) => async () => {
    if ((tries += 1) <= times) throw error
    return tries
  }
  const busy = new EtcdError('refused', 'it refuses: unhealthy cluster')
  t.equal(await patiently(waiting, failing(3, busy)), 4)
  tries = 0
  await t.rejects(patiently(waiting, failing(1_000, busy)), busy)
  t.ok(tries > 3)
  tries = 0
  await t.rejects(patiently(waiting, failing(1, new TypeError('a defect'))), TypeError)
  t.equal(tries, 1)
  tries = 0
  const passes = (error: unknown) => error instanceof TypeError
  t.equal(
    await patiently(waiting, failing(2, new TypeError('in a moment')), passes),
    3,
    'errors named by the caller are retried',
  )
})
