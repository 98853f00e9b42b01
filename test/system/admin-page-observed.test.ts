import { join } from 'node:path'
import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** The page of a daemon that only observes a HAProxy. */

t.test('running services are not said to end with the next apply', { skip: noBrowser }, async (test) => {
  const observed = await daemonFixture(test, ['--demo'])
  await until(
    'the demonstration runs',
    () => observed.data('GET', '/overview'),
    ({ layer7 }) => layer7.frontends.total > 0,
  )
  const daemon = await daemonFixture(test, ['--observe', join(observed.state, 'haproxy', 'master.sock')])
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('main .empty:has-text("No services are configured here."):has-text("1 service")')
  test.equal(await page.locator('main .empty:has-text("The next apply")').count(), 0)
  await page.click('.menu a:has-text("Servers")')
  await page.click('.page-head >> text=New server')
  await page.fill('.dialog .field:has(> label:has-text("Name")) input', 'one')
  await page.fill('.dialog .field:has(> label:has-text("IP")) input', '127.0.0.1')
  await page.click('.dialog-foot .main')
  await page.waitForSelector('.dialog .problem:has-text("This daemon only observes")')
  test.same(faults, [])
})
