import t from 'tap'
import { until } from '../fixtures/until.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { dnsSite } from './acme-dns-site.ts'

/** DNS records over kill -9. */

const skip = sandboxProblem()

t.test('kill -9 while records are created, waited for and removed', { skip }, async (test) => {
  const { ca, daemon, made, calls, records, mode } = await dnsSite(test, {
    PEBBLE_VA_NOSLEEP: '0',
    PEBBLE_VA_SLEEPTIME: '2',
  })
  mode.is = 'hangs'
  const { order } = await made()
  const again = async () => {
    await daemon.kill('SIGKILL')
    mode.is = 'right'
    await daemon.start()
    await daemon.login()
  }
  await until('a call', order, () => calls.length > 0)
  await again()
  await until('records', order, () => records.size === 2)
  await again()
  await until('its end', order, ({ state }) => state === 'valid' || calls.some(({ action }) => action === 'cleanup'))
  await again()
  await until('the certificate', order, ({ state }) => state === 'valid')
  await until('the end of its records', order, ({ leftRecords }) => leftRecords.length === 0)
  test.equal(records.size, 0)
  test.equal(ca.log().match(/Added order/g)?.length, 1)
  test.equal(ca.log().match(/Issued certificate/g)?.length, 1)
})
