import t from 'tap'
import { axeOfLooks, logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { freePort } from '../fixtures/traffic.ts'

t.test('a form, and beside it the resulting HAProxy file', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const own = String(await freePort())
  const { id: defaultBackendId } = await daemon.data('POST', '/layer7proxy/backends', {
    name: 'shop',
    mode: 'http',
    reals: [],
  })
  const body = { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: own, defaultBackendId }
  const { id } = await daemon.data('POST', '/layer7proxy/frontends', body)
  await daemon.data('PUT', '/services/apply')
  // The test injects axe into the page, which the page's own policy forbids.
  const { page, faults } = await openedPage(test, daemon.port, { bypassCSP: true })
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/services/layer7/${id}'`)
  await page.click('.page-head button:has-text("Edit")')
  await page.waitForSelector('.dialog .field')
  await page.click('button:has-text("Lines of haproxy.cfg")')
  await page.waitForSelector('.beside:has-text("No generated file would change")')
  const ports = page.locator('.dialog .field:has-text("Ports") input')
  await ports.fill('8123')
  await page.waitForSelector('.beside:has-text("The form has changed since this preview.")')
  await page.click('.beside button:has-text("Refresh")')
  await page.waitForSelector('.beside .added:has-text("bind 127.0.0.1:8123")')
  test.match(await page.innerText('.beside .removed'), `bind 127.0.0.1:${own}`)
  test.same(await axeOfLooks(page), [])
  await page.fill('.dialog .field:has-text("Name") input >> nth=0', 'store')
  await page.click('.beside button:has-text("Refresh")')
  await page.waitForSelector('.beside .added:has-text("# store")')
  await ports.fill('many')
  await page.click('.beside button:has-text("Refresh")')
  await page.waitForSelector('.beside .problem[role=alert]')
  test.same(await daemon.data('GET', '/services/pending').then(({ count }) => count), 0, 'a preview changes nothing')
  test.same(faults, [])
})
