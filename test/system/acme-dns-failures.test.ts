import t from 'tap'
import { until } from '../fixtures/until.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { dnsSite, SECRET } from './acme-dns-site.ts'
import { output } from './tls-frontend.ts'

/** Scripts that create no records. */

const skip = sandboxProblem()

t.test('a script that fails, a script that hangs, and records that never become visible', { skip }, async (test) => {
  const { daemon, made, calls, records, mode, dns } = await dnsSite(test)
  mode.is = 'refuses'
  const { id, order } = await made()
  // Only parts that should end soon get little time.
  const triedAgain = async (within: object) => {
    await daemon.data('PUT', `/certificates/acme/orders/${id}`, { dns: { ...dns, ...within } })
    await daemon.data('PUT', '/services/apply')
    await daemon.data('PUT', `/certificates/acme/orders/${id}/renew`)
  }
  const failing = await until('the failure', order, ({ failures }) => failures === 1)
  test.match(
    failing.lastError,
    'The script provider ended with 3 at present _acme-challenge.site.test: no refused with',
  )
  test.match(failing.lastError, 'token=**')
  test.notOk(failing.lastError.includes(SECRET))
  // The second one would hang for as long as this order allows.
  await until('that both are tidied', order, () => calls.filter(({ action }) => action === 'cleanup').length >= 2)

  mode.is = 'hangs'
  await triedAgain({ timeout: 2 })
  const late = await until('the end of its patience', order, ({ lastError }) => /killed/.test(lastError ?? ''))
  test.match(late.lastError, /was killed, perhaps after 2 s, at present/)
  await until(
    'that nothing of it runs',
    () => output('ps', '-eo', 'args'),
    (text) => !text.includes('fail-with-body'),
  )

  mode.is = 'deaf'
  await triedAgain({ visibleWithin: 1 })
  const unseen = await until('that nobody sees them', order, ({ lastError }) => /does not show/.test(lastError ?? ''))
  test.match(unseen.lastError, /^After \d+ s, 127\.0\.0\.1:\d+ does not show the record _acme-challenge\.site\.test/)

  mode.is = 'right'
  await triedAgain({})
  await until('the certificate', order, ({ state }) => state === 'valid')
  await until('the end of its records', order, () => records.size === 0)
})
