/** A worker of HAProxy hangs, under a daemon in the trial profile: traffic recovers automatically. */
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { gone, hungWorker, serving, sessions } from './serving-daemon.ts'

t.test('a hanging worker is replaced, no caller asks it more than once, and everything is reported', async (test) => {
  const { daemon, served } = await serving(test)
  const worker = await hungWorker(daemon)
  let most = 0
  const counting = setInterval(() => (most = Math.max(most, sessions(daemon))), 20)
  await served()
  clearInterval(counting)
  // One for each kind of caller; on a busy machine some abandoned ones are still closing. The limit is ten.
  test.ok(most > 0 && most <= 6, `${most} sessions at a time`)
  await gone(worker)
  const log = async () => daemon.stderr
  await until('the log', log, (text) => text.includes('did not answer for 3 s and was killed'))
  test.match(daemon.stderr, /HAProxy does not answer; enforcing[^\n]*"reason":"its worker does not answer"/)
  test.match(daemon.stderr, new RegExp(`a worker of HAProxy \\(process ${worker}\\) did not answer`))
  test.equal((await daemon.call('PUT', '/services/layer7proxy/reload')).status, 200)
})

t.test('while a worker hangs, an apply is carried out and reports what was killed', async (test) => {
  const { daemon, ripId, served } = await serving(test)
  const worker = await hungWorker(daemon)
  await daemon.data('PUT', `/ipvsDirector/rips/${ripId}/drain`)
  const applied = await daemon.call('PUT', '/services/apply')
  test.equal(applied.status, 200, applied.text)
  const log = async () => daemon.stderr
  await until('the log', log, (text) => text.includes(`a worker of HAProxy (process ${worker}) did not answer`))
  await gone(worker)
  await daemon.data('PUT', `/ipvsDirector/rips/${ripId}/online`)
  await daemon.data('PUT', '/services/apply')
  await served()
})
