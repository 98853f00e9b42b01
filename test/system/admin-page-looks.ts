import type { BrowserContextOptions } from 'playwright-core'
import type { Test } from 'tap'
import { axeOf, logIn, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const PAGES =
  'services servers traffic certificates changes changes/audit alerts cluster node operations account overview'

/** Checks every page for every user: axe in each look, no horizontal scrolling, no resource from elsewhere. */
export async function everyPageIn(test: Test, looks: Readonly<Record<string, BrowserContextOptions>>): Promise<void> {
  const daemon = await daemonFixture(test, ['--demo'])
  const [{ id }] = await until(
    'the demonstration is there',
    () => daemon.data('GET', '/layer7proxy/frontends'),
    (all) => all.length > 0,
  )
  const [{ id: server }] = await daemon.data('GET', '/ipvsDirector/rips')
  const pages = [...PAGES.split(' '), `services/layer7/${id}`, `servers/${server}`]
  for (const [look, options] of Object.entries(looks)) {
    // The test injects axe into the page, which the page's own policy forbids.
    const { page, faults } = await openedPage(test, daemon.port, { ...options, bypassCSP: true })
    await page.waitForSelector('main.login')
    test.same(await axeOf(page), [], `login in ${look}`)
    await logIn(page)
    for (const name of pages) {
      await page.evaluate(`location.hash = '#/${name}'`)
      await page.waitForSelector(name === 'overview' ? '.tiles' : 'main h1')
      await page.waitForSelector('.loading', { state: 'detached' })
      test.same(await axeOf(page), [], `${name} in ${look}`)
      test.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), `${name} fits in ${look}`)
    }
    test.same(faults, [], look)
    await page.close()
  }
}
