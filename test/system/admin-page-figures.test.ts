import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { logIn, noBrowser, openedPage, turn } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { publishServices } from '../fixtures/services-published.ts'
import { freePort } from '../fixtures/traffic.ts'

/** Requests of a page that stays open: only figures of visible objects, however many objects exist. */

const SERVICES = 60
/** A page in a hidden tab requests nothing after this time. */
const UNSEEN_MS = 60_000

/** Number of ids with which each stream of figures was opened so far; 0: all objects. */
function streamsOf(page: Page): { readonly opened: number[]; readonly open: () => number } {
  const opened: number[] = []
  let open = 0
  const isStream = (url: string) => new URL(url).pathname.endsWith('/stats/stream')
  page.on('request', (request) => {
    if (!isStream(request.url())) return
    opened.push((new URL(request.url()).searchParams.get('ids') ?? '').split(',').filter((id) => id !== '').length)
    open++
  })
  page.on('requestfailed', (request) => isStream(request.url()) && open--)
  return { opened, open: () => open }
}

const opens = (test: Test, streams: ReturnType<typeof streamsOf>, wanted: readonly number[], what: string) =>
  until(
    what,
    async () => streams.opened,
    (opened) => opened.length >= wanted.length,
  ).then((opened) => test.same(opened, wanted, what))

t.test('a large site: figures of visible objects only', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await publishServices(daemon, SERVICES)
  const { page, faults } = await openedPage(test, daemon.port)
  const streams = streamsOf(page)
  await logIn(page)
  await page.waitForSelector('main td .badge:has-text("serving")')
  test.equal(await page.locator('main tbody tr').count(), 15)
  test.equal(await page.locator('main td:has-text("8/8")').count(), 15)
  await opens(test, streams, [30], 'a frontend and a backend of each service')
  await page.evaluate("location.hash = '#/changes'")
  await until(
    'no figures',
    async () => page.locator('.live').count(),
    (count) => count === 0,
  )
  await page.evaluate("location.hash = '#/servers'")
  await page.waitForSelector('main td[data-title="Sessions"]:has-text("0")')
  await until(
    'the second stream',
    async () => streams.opened.length,
    (count) => count === 2,
  )
  const [, first = 0] = streams.opened
  test.ok(first > 20 && first <= 60, `${first} rows are drawn`)
  await page.evaluate('scrollTo(0, 8000)')
  await until(
    'the third stream',
    async () => streams.opened.length,
    (count) => count === 3,
  )
  await until(
    'rows that came have figures',
    async () => page.locator('main tbody tr:nth-child(20) td:has-text("–")').count(),
    (count) => count === 0,
  )
  await until(
    'those before were left',
    async () => streams.open(),
    (count) => count === 1,
  )
  test.same(faults, [])
})

t.test('as many rows as a tall screen shows, and more than one request may name', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await publishServices(daemon, SERVICES)
  const { page, faults } = await openedPage(test, daemon.port, { viewport: { width: 1280, height: 2_800 } })
  const streams = streamsOf(page)
  await logIn(page)
  await page.waitForSelector('main td .badge:has-text("serving")')
  const figures = () => page.waitForSelector('main td[data-title="Sessions"]:has-text("0")')
  await page.evaluate("location.hash = '#/servers'")
  await test.resolves(figures(), 'the address of the stream is not too long for the daemon')
  test.equal(streams.opened.at(-1), 0, 'everything is followed instead')
  // Headers of a browser or a proxy can make a request too long as well.
  await page.route(/stats.stream.ids=/, (route) => route.fulfill({ status: 431 }))
  await page.setViewportSize({ width: 1280, height: 700 })
  await page.evaluate("location.hash = '#/changes'")
  await page.waitForSelector('.live', { state: 'detached' })
  await page.evaluate("location.hash = '#/servers'")
  await test.resolves(figures(), 'a refusal leads to everything as well')
  test.same(faults, [])
})

t.test('a running service is not shown as not live before its figures arrive', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await publishServices(daemon, SERVICES)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('main td .badge:has-text("serving")')
  const followed = (await page.locator('main td:first-child a').evaluateAll((links) => links.map(String))).join()
  const services: readonly { readonly id: string }[] = await daemon.data('GET', '/layer7proxy/frontends')
  const other = services.find(({ id }) => !followed.includes(id))?.id
  await page.evaluate(`globalThis.told = new Set()
    new MutationObserver(() => told.add(document.querySelector('.page-head .badge')?.textContent))
      .observe(document.body, { subtree: true, childList: true, characterData: true })
    location.hash = '#/services/layer7/${other}'`)
  await page.waitForSelector('.page-head .badge:has-text("serving")')
  test.notOk(await page.evaluate("told.has('not live')"), "'not live' never appeared")
  test.same(faults, [])
})

t.test(
  'a service that does not run yet has no figures, and shows those of no other',
  { skip: noBrowser },
  async (test) => {
    const daemon = await daemonFixture(test)
    await publishServices(daemon, SERVICES)
    const port = await freePort()
    const { id } = await daemon.data('POST', '/layer7proxy/frontends', {
      name: 'a new one',
      mode: 'http',
      ip: '127.2.1.1',
      ports: String(port),
    })
    const { page } = await openedPage(test, daemon.port)
    const streams = streamsOf(page)
    await logIn(page)
    await page.evaluate(`location.hash = '#/services/layer7/${id}'`)
    await page.waitForSelector('.page-head .badge:has-text("not live")')
    await page.evaluate("location.hash = '#/services?q=service 1'")
    await page.waitForSelector('main td .badge:has-text("serving")')
    test.ok(streams.opened.includes(1))
    test.ok(streams.opened.includes(0), 'everything is followed instead')
  },
)

t.test('a page behind another tab requests nothing after a minute', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port, {}, { hasClock: true })
  const streams = streamsOf(page)
  let overviews = 0
  page.on('request', (request) => new URL(request.url()).pathname.endsWith('/overview') && overviews++)
  await logIn(page)
  await page.waitForSelector('.live:has-text("live")')
  test.same(streams.opened, [0], 'on a small site, everything')
  const pointsOfLine = async () => (await page.getAttribute('.sparkline polyline', 'points'))?.split(' ').length ?? 0
  await until('a line of seconds', pointsOfLine, (points) => points >= 15)
  await turn(page, true)
  await page.clock.runFor(UNSEEN_MS + 1_000)
  await until(
    'the stream is left',
    async () => streams.open(),
    (count) => count === 0,
  )
  const before = overviews
  await page.clock.runFor(30_000)
  test.equal(overviews, before)
  await turn(page, false)
  await until(
    'it is opened again',
    async () => streams.open(),
    (count) => count === 1,
  )
  await page.waitForSelector('.shell:not(.old) .live:has-text("live")')
  // The old drawing stays until the first figures arrive.
  await until('a line again, with none of the seconds of before', pointsOfLine, (count) => count >= 2 && count < 15)
  test.ok(overviews > before)
  test.same(faults, [])
})
