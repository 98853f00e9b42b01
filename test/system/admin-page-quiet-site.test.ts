import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'

t.test('a site without traffic, whose figures do not change', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.live:has-text("live")')
  // Figures count as old after five seconds. Unchanged ones would stay old; a machine that stands still makes them old
  // for a moment.
  await page.waitForTimeout(8_000)
  await page.waitForSelector('.shell:not(.old) .live:not(.old)')
  test.same(faults, [])
})
