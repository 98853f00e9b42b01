/** A worker of HAProxy hangs, and it or the daemon is restarted. */
import t from 'tap'
import { gone, hungWorker, serving } from './serving-daemon.ts'

t.test('a restart ends a hanging worker, and a new daemon replaces one that it finds', async (test) => {
  const { daemon, served } = await serving(test)
  await hungWorker(daemon)
  const restarted = await daemon.call('PUT', '/services/layer7proxy/restart')
  test.equal(restarted.status, 200, restarted.text)
  await served()
  await daemon.kill('SIGKILL')
  const worker = await hungWorker(daemon)
  await daemon.start()
  await served()
  await gone(worker)
})
