import type { Page } from 'playwright-core'
import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** The page shows only what the user may do. */

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

/** Holds back the overview; returns a function that releases it. */
async function heldOverview(page: Page): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/overview', async (route) => {
    await released
    await route.continue()
  })
  return () => release()
}

t.test('unknown data is not shown as empty', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  const { page, faults } = await openedPage(test, daemon.port)
  const release = await heldOverview(page)
  await logIn(page)
  await page.click('.menu a:has-text("Changes")')
  await page.waitForSelector('.page-head .actions button')
  const said = () => page.locator('.pill, .page-head .actions button').allInnerTexts()
  test.same(await said(), ['Pending changes', 'Pending changes'])
  release()
  await page.waitForSelector('.pill.waiting')
  test.same(await said(), ['1 pending (1 yours)', '1 pending'])
  test.same(faults, [])
})

t.test('a right that is withdrawn while the page is open', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  const { id: user } = await daemon.data('POST', '/localUsers/users', PERSON)
  const { id } = await daemon.data('POST', '/rbac/roles', role([user], ['drain', 'halt']))
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  const release = await heldOverview(page)
  await logIn(page, HER.password, HER.email)
  await page.waitForSelector('.menu a:has-text("Servers")')
  test.equal(await page.locator('.pill').count(), 0, 'pending changes are not shown to her')
  release()
  await page.waitForSelector('.haproxy')
  const menu = () => page.locator('.menu li').allInnerTexts()
  test.same(await menu(), ['Overview', 'Services', 'Servers', 'Certificates', 'Operations'])
  test.equal(await page.locator('text=Publish a service').count(), 0)
  test.equal(await page.locator('.pill').count(), 0, 'pending changes are not shown to her')
  await page.click('.menu a:has-text("Servers")')
  await page.click('main a:has-text("one")')
  await page.waitForSelector('.actions button:has-text("halt")')
  test.same(await page.locator('.page-head .actions button').allInnerTexts(), ['Drain', 'Halt'])

  await daemon.data('PUT', `/rbac/roles/${id}`, role([user], ['drain']))
  await daemon.data('PUT', '/services/apply')
  await page.waitForSelector('.toast:has-text("Your permissions have changed.")')
  await page.waitForSelector('.actions button:has-text("halt")', { state: 'detached' })
  test.same(await page.locator('.page-head .actions button').allInnerTexts(), ['Drain'])

  // The page learns from her requests, even without an apply.
  await daemon.data('PUT', `/rbac/roles/${id}`, role([], ['drain']))
  await daemon.data('PUT', '/services/apply')
  await page.waitForSelector('main .empty:has-text("You do not have access to this page.")')
  // The overview is requested every few seconds, and then refused.
  await until('only what is there for everybody', menu, (all) => all.join() === 'Operations')
  await page.click('main >> text=Overview')
  await page.waitForSelector('.empty:has-text("You do not have access to this page.")', { state: 'detached' })
  test.same(faults, [])
})

t.test('a node page with the allowed operations only', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { id: user } = await daemon.data('POST', '/localUsers/users', PERSON)
  const endpoints = [
    { path: '/overview', methods: ['GET'] },
    { path: '/services', methods: ['GET'] },
    { path: '/services/apply', methods: ['GET'] },
    { path: '/services/{service}/reload', methods: ['PUT'] },
    { path: '/snmp', methods: ['GET', 'PUT'] },
  ]
  const { id } = await daemon.data('POST', '/rbac/roles', { name: 'reloads', users: [user], groups: [], endpoints })
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page, HER.password, HER.email)
  await page.click('.menu a:has-text("Node")')
  await page.waitForSelector('main button:has-text("Reload")')
  const buttons = new Set(await page.locator('main button').allInnerTexts())
  test.same([...buttons], ['Reload', 'SNMP'])
  test.equal(await page.locator('main .problem').count(), 0, 'no card that names forbidden data')

  // The dialog is open when the right is withdrawn.
  await page.click('main button:has-text("SNMP")')
  await page.waitForSelector('.dialog-foot button:has-text("Send")')
  await daemon.data('PUT', `/rbac/roles/${id}`, {
    name: 'reloads',
    users: [user],
    groups: [],
    endpoints: endpoints.slice(0, 4),
  })
  await daemon.data('PUT', '/services/apply')
  await page.waitForSelector(
    '.dialog .problem:has-text("You do not have permission to do this, or no longer have it.")',
    {
      timeout: 60_000,
    },
  )
  test.equal(await page.locator('.dialog-foot button:has-text("Send")').count(), 0)
  test.same(faults, [])
})

t.test('roles for one task start at the page of that task', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const roles: readonly { readonly id: string; readonly name: string }[] = await daemon.data('GET', '/rbac/roles')
  const menus = {
    Backup: ['Node', 'Operations'],
    Certificates: ['Certificates', 'Operations'],
    Monitoring: ['Traffic', 'Node', 'Operations'],
  }
  for (const name of [...Object.keys(menus), 'Operator']) {
    const own = roles.filter((one) => one.name === name).map(({ id }) => id)
    await daemon.data('POST', '/localUsers/users', { ...PERSON, email: `${name}@x.test`, roles: own })
  }
  await daemon.data('PUT', '/services/apply')
  for (const [name, menu] of Object.entries(menus)) {
    const { page, faults } = await openedPage(test, daemon.port)
    await logIn(page, HER.password, `${name}@x.test`)
    await page.waitForSelector(`main h1:has-text("${menu[0]}")`)
    await page.waitForSelector('.loading', { state: 'detached' })
    test.same(await page.locator('.menu li').allInnerTexts(), menu, name)
    if (name === 'Monitoring') await page.waitForSelector('main h2:has-text("demo-frontend")')
    test.same(await page.locator('main .problem').allInnerTexts(), [], `${name} sees no refusal`)
    if (name === 'Backup') {
      test.same(await page.locator('main .card-actions button').allInnerTexts(), ['Upload a file', 'Back up'])
      const download = page.waitForEvent('download')
      await page.click('main button:has-text("Back up")')
      test.match((await download).suggestedFilename(), /^fulcrum-.*\.json$/)
    }
    test.same(faults, [])
    await page.close()
  }
  const { page } = await openedPage(test, daemon.port)
  await logIn(page, HER.password, 'Operator@x.test')
  await page.click('.menu a:has-text("Changes")')
  await page.waitForSelector('main .choice button')
  test.same(await page.locator('main .choice button').allInnerTexts(), ['Revisions'])
})

t.test('a user without the overview sees the data of the node', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { id: user } = await daemon.data('POST', '/localUsers/users', PERSON)
  const endpoints = ['layer7proxy/logs', 'interfaces', 'stats/stream'].map((path) => ({
    path: `/{applianceId}/${path}`,
    methods: ['GET'],
  }))
  const more = ['/layer7proxy/frontends', '/services'].map((path) => ({ path, methods: ['GET'] }))
  await daemon.data('POST', '/rbac/roles', {
    name: 'watches',
    users: [user],
    groups: [],
    endpoints: [...endpoints, ...more],
  })
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  const figures = page.waitForRequest((one) => one.url().includes(`/${daemon.node}/stats/stream`))
  await logIn(page, HER.password, HER.email)
  await page.click('.menu a:has-text("Traffic")')
  await page.waitForSelector('.card:has(h2:has-text("Requests")) .empty')
  await page.click('.menu a:has-text("Node")')
  await page.waitForSelector('.card:has(h2:has-text("Network")) li')
  await figures
  test.same(faults, [])
})
