import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { hang } from '../fixtures/hang.ts'
import { freePort } from '../fixtures/traffic.ts'

/** The page when something around it is unusual. */

t.test('a daemon that is silent for half a minute, and comes back', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port, {}, { hasClock: true })
  await logIn(page)
  await page.waitForSelector('.live:has-text("live")')
  await page.waitForSelector('main td:has-text("demo")')
  process.kill(daemon.pid, 'SIGSTOP')
  test.teardown(() => process.kill(daemon.pid, 'SIGCONT'))
  await page.clock.runFor(6_000)
  await page.waitForSelector('.shell.old .live.old')
  await page.clock.runFor(31_000)
  await page.waitForSelector('.live.away')
  test.ok(await page.isVisible('main td:has-text("demo")'), 'the last data is still shown')
  process.kill(daemon.pid, 'SIGCONT')
  // Retries are up to a quarter of a minute apart.
  await until(
    'figures come again',
    async () => {
      await page.clock.runFor(1_000)
      return page.locator('.shell:not(.old) .live:has-text("live")').count()
    },
    (count) => count === 1,
  )
  test.same(faults, [])
})

t.test('a browser whose clock is three hours ahead', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  await daemon.data('PUT', '/services/apply', { comment: 'first', confirmWithin: 900 })
  const { page, faults } = await openedPage(test, daemon.port, {}, { clock_ms: Date.now() + 3 * 3_600_000 })
  await logIn(page)
  await page.waitForSelector('.wrong-clock:has-text("off by 3 hours")')
  const times = await page.locator('.timeline time').allInnerTexts()
  test.ok(times.length > 0)
  test.same(
    times.filter((text) => /hr|hour|day/.test(text)),
    [],
    'an apply of this moment is shown as such',
  )
  test.match(await page.innerText('.needs'), /Revision 2 by admin@localhost is reverted unless you confirm it/)
  test.notMatch(await page.innerText('.needs'), /\d s\b/, 'only the bar counts seconds')
  const seconds = /(\d+) s left/.exec(await page.innerText('.confirm-bar [role=timer]'))?.[1]
  test.ok(Number(seconds) > 600, 'as the daemon counts')
  test.equal(
    await page.innerText('.confirm-bar [role=alert]'),
    'Revision 2 by admin@localhost is reverted unless you confirm it.',
    'the text of the screen reader does not change every second',
  )
  await page.route('**/api/v1/overview', async (route) => {
    const response = await route.fetch()
    const { data } = await response.json()
    const json = { status: 'success', data: { ...data, quorum: false, apply: { ...data.apply, secondsLeft: 0 } } }
    await route.fulfill({ response, json })
  })
  const over = '.confirm-bar:has-text("Revision 2 by admin@localhost was not confirmed in time")'
  await page.waitForSelector(`${over}:has-text("This continues as soon as enough nodes answer.")`)
  test.equal(await page.locator('.confirm-bar button').count(), 0, 'no user can act on it here')
  test.same(faults, [])
})

t.test('a HAProxy that does not answer: its services are unknown, not down', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  const row = 'main tr:has-text("demo-frontend")'
  await page.waitForSelector(`${row} .badge:has-text("serving")`)
  await page.evaluate(`location.hash = '#/servers'`)
  const sessions = 'main tbody tr:first-child td[data-title="Sessions"]'
  await page.waitForSelector(`${sessions}:has-text("0")`)
  const master = Number(readFileSync(join(daemon.state, 'haproxy', 'haproxy.pid'), 'utf8'))
  await hang(master)
  test.teardown(() => process.kill(master, 'SIGCONT'))
  await page.waitForSelector(`${sessions}:has-text("–")`)
  await page.evaluate(`location.hash = '#/services'`)
  await page.waitForSelector(`${row} .badge.idle:has-text("unknown")`)
  test.match(await page.innerText(`${row} td[data-title="Servers"]`), /^–\/\d+$/)
  process.kill(master, 'SIGCONT')
  await page.waitForSelector(`${row} .badge:has-text("serving")`)
  test.same(faults, [])
})

t.test('just after an apply, not everything is called up', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const off = { name: 'off', mode: 'http', ip: '127.0.0.1', ports: String(await freePort()), enabled: false }
  await daemon.data('POST', '/layer7proxy/frontends', off)
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  let isKnown = false
  await page.route('**/api/v1/overview', async (route) => {
    const response = await route.fetch()
    const { data } = await response.json()
    const frontends = { ...data.layer7.frontends, up: isKnown ? 1 : 0 }
    const layer7 = { ...data.layer7, frontends }
    await route.fulfill({ response, json: { status: 'success', data: { ...data, attention: [], more: 0, layer7 } } })
  })
  await logIn(page)
  await page.waitForSelector('main td:has-text("demo-frontend")')
  test.equal(await page.locator('.all-well').count(), 0)
  isKnown = true
  await page.waitForSelector('.all-well:has-text("Everything is up: 1 service.")')
  test.same(faults, [])
})

t.test('a browser with an unsupported language', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.tiles')
  await page.addInitScript("Object.defineProperty(navigator, 'languages', { value: ['en-US@posix', 'en'] })")
  await page.evaluate("location.hash = '#/account'")
  await page.reload()
  await page.waitForSelector('.card:has(h2:has-text("Sessions")) li .hint')
  test.same(faults, [])
})

t.test('an address with a broken encoding shows no page', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.tiles')
  await page.evaluate("location.hash = '#/%zz'")
  await page.click('main .empty a:has-text("Overview")')
  await page.waitForSelector('.tiles')
  test.same(faults, [])
})
