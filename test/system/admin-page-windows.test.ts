import type { Page } from 'playwright-core'
import t from 'tap'
import { logIn, noBrowser, openedPage, turn } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { publishServices } from '../fixtures/services-published.ts'

/** Windows of one browser, which opens six connections to a daemon. */

/** So many that not all figures are followed. */
const SERVICES = 60

t.test('windows share their streams, and leave connections for requests', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  const open = { figures: 0, events: 0 }
  const kindOf = (url: string) =>
    url.includes('/stats/stream') ? 'figures' : url.endsWith('/events') ? 'events' : undefined
  const count = (url: string, by: 1 | -1) => {
    const kind = kindOf(url)
    if (kind !== undefined) open[kind] += by
  }
  page.context().on('request', (request) => count(request.url(), 1))
  page.context().on('requestfailed', (request) => count(request.url(), -1))
  const isLive = (one: Page) => one.waitForSelector('.shell:not(.old) .live:has-text("live")')
  const opened = async () => {
    const other = await page.context().newPage()
    await other.goto(page.url())
    await isLive(other)
    return other
  }
  await logIn(page)
  await isLive(page)
  const windows = [page]
  while (windows.length < 8) windows.push(await opened())
  // The browser reports the end of a stream that was left.
  await until(
    'that one follows, and tells the others',
    () => open,
    ({ figures, events }) => figures === 1 && events === 1,
  )
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'web', ip: '127.0.0.1', port: 80 })
  for (const one of windows) await one.waitForSelector('text=1 pending')
  // The leading window is closed, and another one takes over.
  await page.close()
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'web 2', ip: '127.0.0.2', port: 80 })
  for (const one of windows.slice(1)) await one.waitForSelector('text=2 pending')
  for (const one of windows.slice(1)) await isLive(one)
  for (const one of windows.slice(1)) await turn(one, true)
  const tab = await opened()
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'web 3', ip: '127.0.0.3', port: 80 })
  await tab.waitForSelector('text=3 pending')
  test.same(faults, [])
})

t.test('windows with more streams than a browser has connections say so', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await publishServices(daemon, SERVICES)
  const all = await daemon.data('GET', '/layer7proxy/frontends')
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.live:has-text("live")')
  const isLive = (one: Page) => one.waitForSelector('.shell:not(.old) .live:has-text("live")')
  const open = async ({ id }: { readonly id: string }) => {
    const other = await page.context().newPage()
    await other.goto(`${page.url().split('#')[0]}#/services/layer7/${id}`)
    return other
  }
  const [first, second, third] = all
  await isLive(await open(first))
  const leaves = await open(second)
  await isLive(leaves)
  const waits = await open(third)
  await waits.waitForSelector('.live.old:has-text("no live figures: other windows use all connections")')
  test.equal(await waits.evaluate("fetch('api/v1/ping').then(({ status }) => status)"), 200, 'it can send requests')
  await leaves.close()
  await isLive(waits)
  const requests = await page.context().newPage()
  await requests.goto(`${page.url().split('#')[0]}#/traffic`)
  await requests.click('button:has-text("Live")')
  await requests.waitForSelector('text=Other windows use all connections')
  await waits.close()
  await requests.waitForSelector('text=Other windows use all connections', { state: 'detached' })
  test.same(faults, [])
})
