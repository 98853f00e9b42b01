import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** Submitted forms: input is sent, as a whole, to the object that it belongs to. */

t.test('editing a server keeps the fields that every change of it has to name', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/servers/${id}'`)
  await page.click('.page-head .actions >> text=Edit')
  await page.fill('.dialog .field:has(> label:text-is("Weight")) input', '7')
  await page.click('.dialog-foot .main')
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.match(await daemon.data('GET', `/ipvsDirector/rips/${id}`), { weight: 7, port: 8080 })
  test.same(faults, [])
})

t.test('settings are changed, and changed back while their form is open', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/node'`)
  await page.click('.chip:has-text("Connection tracking")')
  const timeout = page.locator('.dialog .field:has(> label:text-is("Tcp timeout")) input')
  const before = await until(
    'the settings as they are',
    () => timeout.inputValue(),
    (value) => value !== '',
  )
  for (const value of ['15m', before]) {
    await timeout.fill(value)
    await page.click('.dialog-foot button:has-text("Send")')
    await page.waitForSelector(`.dialog [aria-live] pre:has-text('"tcpTimeout": "${value}"')`)
    test.match(await daemon.data('GET', `/${daemon.node}/system/conntrack`), { tcpTimeout: value })
  }
  await page.keyboard.press('Escape')

  // The present time zone is read with the clock.
  const clock = `/${daemon.node}/system/datetime`
  await daemon.data('PUT', `${clock}/timezone`, { zone: 'Europe/Vienna' })
  await page.click('.chip:has-text("Time zone")')
  const zone = page.locator('.dialog .field:has(> label:text-is("Timezone")) input')
  await until(
    'the present zone',
    () => zone.inputValue(),
    (value) => value === 'Europe/Vienna',
  )
  await zone.fill('Europe/Berlin')
  await page.click('.dialog-foot button:has-text("Send")')
  await page.waitForSelector('.dialog [aria-live] pre')
  test.match(await daemon.data('GET', clock), { timezone: 'Europe/Berlin' })
  test.same(faults, [])
})

t.test('an operation on a node asks for the node, and accepts no other', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/operations?q=cluster.removenode'`)
  await page.click('main .card li button')
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'DELETE') asked.push(new URL(request.url()).pathname)
  })
  await page.fill('.dialog .field:has(> label:has-text("Appliance")) input', 'of-another')
  await page.click('.dialog-foot button:has-text("Send")')
  await page.waitForSelector('.dialog .problem')
  test.same(asked, ['/api/v1/cluster/nodes/of-another'])
  test.same(faults, [])
})

t.test('an operation on one record is not sent without a record', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/operations?q=delete /services/pending/{changeid}'`)
  await page.click('main .card li button')
  const field = page.locator('.dialog .field:has(> label:has-text("Change")) input')
  for (const nothing of ['', ' ', '.']) {
    await field.fill(nothing)
    await page.click('.dialog-foot button:has-text("Send")')
    await page.waitForSelector('.dialog .problem:has-text("Fill in the required fields first.")')
    await page.waitForSelector('.dialog .field .error:has-text("required")')
  }
  test.equal((await daemon.data('GET', '/services/pending')).count, 1, 'the pending change is still there')
  const [{ id }] = (await daemon.data('GET', '/services/pending')).changes
  await field.fill(id)
  await page.click('.dialog-foot button:has-text("Send")')
  await page.waitForSelector('.dialog .good-text')
  test.equal((await daemon.data('GET', '/services/pending')).count, 0)
  await page.click('.dialog-foot button:has-text("Send")')
  await page.waitForSelector('.dialog .problem')
  test.equal(await page.locator('.dialog .good-text').count(), 0, 'the earlier success is not shown with the refusal')
  test.notMatch(await page.innerText('.dialog'), /`/, 'code in the description is shown as such')
  test.ok(await page.locator('.dialog .hint code').count())
  test.same(faults, [])
})
