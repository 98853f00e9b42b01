import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** The page when answers come late, not now, or not at all. */

t.test('an address field suggests those of the node, and floating ones', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.tiles')
  const answered = (path: string, ip: string) =>
    page.route(path, (route) =>
      route.fulfill({ json: { status: 'success', message: '', data: [{ id: `of-${ip}`, ip }] } }),
    )
  await answered(`**/${daemon.node}/sips?*`, '192.0.2.7')
  await answered('**/fips?*', '192.0.2.8')
  await page.evaluate("location.hash = '#/node'")
  await page.click('.chip:has-text("SNMP")')
  const field = page.locator('.dialog .field:has(> label:has-text("Service IP")) select')
  await until(
    'both lists',
    () => field.locator('option').allTextContents(),
    (all) => all.length > 2,
  )
  test.same(await field.locator('option').allTextContents(), ['–', '192.0.2.7', '192.0.2.8'])
  test.same(faults, [])
})

t.test('a read that was refused for now is repeated while it is shown', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  const refusal = { status: 'error', code: 'BUSY', message: 'too much to do', data: null }
  // A list, and an answer that is not a list.
  for (const [place, path] of Object.entries({ certificates: '/certificates/certs', node: '/backup/list' })) {
    const paths = (url: URL) => url.pathname.endsWith(path)
    await page.route(paths, (route) => route.fulfill({ status: 503, json: refusal }))
    await page.evaluate(`location.hash = '#/${place}'`)
    await page.waitForSelector('main .problem:has-text("too much to do")')
    await page.unrouteAll({ behavior: 'wait' })
    await page.waitForSelector('main .problem', { state: 'detached' })
  }
  test.same(faults, [])
})

t.test('listed records stay while a daemon is overloaded', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/servers'`)
  await page.waitForSelector('main td:has-text("one")')
  const refusal = { status: 'error', code: 'BUSY', message: 'too much to do', data: null }
  await page.route('**/ipvsDirector/rips?*', (route) => route.fulfill({ status: 503, json: refusal }))
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'two', ip: '127.0.0.1', port: 8081 })
  await page.waitForSelector('main .problem:has-text("too much to do")')
  test.ok(await page.isVisible('main td:has-text("one")'), 'its lists are not empty')
  test.equal(await page.evaluate('document.documentElement.translate'), false)
  const questions: string[] = []
  page.on('dialog', async (question) => {
    questions.push(question.message())
    await question.dismiss()
  })
  await page.click('.pill.waiting')
  await page.click('.dialog-foot >> text=Discard all')
  await page.waitForSelector('.dialog .change')
  test.same(questions, ['Discard 2 changes, 0 of other people?'])
  test.equal((await daemon.data('GET', '/services/pending')).count, 2, 'no operation was confirmed')
  test.same(faults, [])
})

t.test('a page whose file does not arrive says so', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.tiles')
  // As after an update: a page opened earlier requests a file of the old version.
  await page.route('**/assets/later-*', (route) => route.fulfill({ status: 404, body: '' }))
  await page.click('.menu a:has-text("Certificates")')
  await page.waitForSelector('main .empty:has-text("This page could not be loaded.")')
  await page.unrouteAll({ behavior: 'wait' })
  await page.click('main .empty button:has-text("Try again")')
  await page.waitForSelector('h1:has-text("Certificates")')
})
