import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'

/** Data that has not arrived, or is refused, is shown neither as empty nor as nothing. */

const PAGES = 'services servers traffic certificates changes changes/audit alerts node account overview'.split(' ')
/** Requests for the user, for what is shown first, and for streams that never end. */
const ANSWERED = /\/(localUsers\/me|overview|events|token|stats\/stream)$/

/** From now on, reads of the page are answered in this way. */
const answeredBy = (page: Page, how: (route: Route) => unknown) =>
  page.route(/\/api\/v1\//, async (route) => {
    const isRead = route.request().method() === 'GET' && !ANSWERED.test(new URL(route.request().url()).pathname)
    await (isRead ? how(route) : route.continue())
  })

const refusedWith = (status: number) => (route: Route) =>
  route.fulfill({ status, json: { status: 'error', code: 'BUSY', message: 'not to be read', data: null } })

const CASES = {
  'held back': { how: () => undefined, tells: '.loading' },
  'the daemon is busy': { how: refusedWith(503), tells: '.problem:has-text("not to be read")' },
  'the user lacks the right': { how: refusedWith(403), tells: '.problem:has-text("not to be read")' },
} as const

t.test('lists that have not arrived, and lists that are refused', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const [{ id }] = await daemon.data('GET', '/layer7proxy/frontends')
  for (const [name, { how, tells }] of Object.entries(CASES)) {
    const { page, faults } = await openedPage(test, daemon.port)
    await logIn(page)
    await page.waitForSelector('main td:has-text("demo-frontend")')
    await answeredBy(page, how)
    await page.reload()
    await page.waitForSelector('.tiles')
    for (const one of PAGES) {
      await page.evaluate(`location.hash = '#/${one}'`)
      await page.waitForSelector(one === 'overview' ? '.tiles' : 'main h1')
      await page.waitForSelector(`main ${tells}`)
      if (tells !== '.loading') await page.waitForSelector('main .loading', { state: 'detached' })
      test.same(await page.locator('main .empty, main td').allInnerTexts(), [], `${one}, ${name}`)
      test.notMatch(await page.innerText('main'), /\(0\)|In no live/, `${one}, ${name}`)
    }
    await page.keyboard.press('Control+k')
    await page.fill('dialog.search input', 'demo')
    await page.waitForSelector(`dialog.search ${tells}`)
    test.equal(await page.locator('dialog.search .none').count(), 0, name)
    await page.keyboard.press('Escape')
    await page.click('.pill')
    await page.waitForSelector(`.dialog ${tells}`)
    if (tells !== '.loading') await page.waitForSelector('.dialog .loading', { state: 'detached' })
    test.same(faults, [])
    await page.close()
  }

  // The parts of a service arrive after the service.
  const { page } = await openedPage(test, daemon.port)
  await page.route(/\/ipvsDirector\/rips\?/, () => undefined)
  await logIn(page)
  await page.waitForSelector('main .page-head')
  await page.evaluate(`location.hash = '#/services/layer7/${id}'`)
  await page.waitForSelector('.card:has(h2:has-text("Backend demo-backend")) .loading')
  test.equal(await page.locator('main .empty').count(), 0)
})
