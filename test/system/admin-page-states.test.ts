import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture, until } from '../fixtures/daemon.ts'

/** What the page looks like when something around it is not as usual. */

const HER = { email: 'ann@localhost', password: 'a long password' }
const PERSON = { email: HER.email, firstname: 'Ann', lastname: 'Other', password: HER.password, disabled: false }
const READS = ['/ipvsDirector/rips', '/certificates/certs', '/services/apply', '/layer7proxy/frontends']
const role = (users: readonly string[], moves: readonly string[]) => ({
  name: 'moves servers',
  users,
  groups: [],
  endpoints: [
    ...READS.map((path) => ({ path, methods: ['GET'] })),
    { path: '/overview', methods: ['GET'] },
    ...moves.map((move) => ({ path: `/ipvsDirector/rips/{id}/${move}`, methods: ['PUT'] })),
  ],
})

t.test('a right that is withdrawn while the page is open', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  const { id: user } = await daemon.data('POST', '/localUsers/users', PERSON)
  const { id } = await daemon.data('POST', '/rbac/roles', role([user], ['drain', 'halt']))
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page, HER.password, HER.email)
  await page.waitForSelector('.menu a:has-text("Servers")')
  const menu = () => page.locator('.menu li').allInnerTexts()
  test.same(await menu(), ['Overview', 'Services', 'Servers', 'Certificates', 'Operations'])
  test.equal(await page.locator('text=Publish a service').count(), 0)
  test.equal(await page.locator('.pill').count(), 0, 'what waits is not for her')
  await page.click('.menu a:has-text("Servers")')
  await page.click('main a:has-text("one")')
  await page.waitForSelector('.actions button:has-text("halt")')
  test.same(await page.locator('.page-head .actions button').allInnerTexts(), ['drain', 'halt'])

  await daemon.data('PUT', `/rbac/roles/${id}`, role([user], ['drain']))
  await daemon.data('PUT', '/services/apply')
  await page.waitForSelector('.toast:has-text("Your rights have changed.")')
  await page.waitForSelector('.actions button:has-text("halt")', { state: 'detached' })
  test.same(await page.locator('.page-head .actions button').allInnerTexts(), ['drain'])

  // What she asks for tells the page, even where no apply does.
  await daemon.data('PUT', `/rbac/roles/${id}`, role([], ['drain']))
  await daemon.data('PUT', '/services/apply')
  await page.waitForSelector('main .empty:has-text("You may not see this page.")')
  test.same(await menu(), ['Overview', 'Operations'])
  await page.click('main >> text=Overview')
  await page.waitForSelector('.empty:has-text("You may not see this page.")', { state: 'detached' })
  test.same(faults, [])
})

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
  test.ok(await page.isVisible('main td:has-text("demo")'), 'what was seen last is still there')
  process.kill(daemon.pid, 'SIGCONT')
  // Tries are up to a quarter of a minute apart.
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
  await page.waitForSelector('.wrong-clock:has-text("wrong by 3 hours")')
  const times = await page.locator('.timeline time').allInnerTexts()
  test.ok(times.length > 0)
  test.same(
    times.filter((text) => /hr|hour|day/.test(text)),
    [],
    'an apply of just now was just now',
  )
  const seconds = /taken back in (\d+) s/.exec(await page.innerText('.confirm-bar'))?.[1]
  test.ok(Number(seconds) > 600, 'as the daemon counts')
  test.same(faults, [])
})
