import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'

/** What becomes of what somebody has typed: it is sent, as a whole, to what it is about. */

t.test('a server is edited, and keeps what every change of it has to name', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/servers/${id}'`)
  await page.click('.page-head .actions >> text=Edit')
  await page.fill('.dialog .field:has(> label:text-is("Weight")) input', '7')
  await page.click('.dialog-foot .main')
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.match(await daemon.data('GET', `/ipvsDirector/rips/${id}`), { weight: 7, port: 8080 })
  test.same(faults, [])
})
