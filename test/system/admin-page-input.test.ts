import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { daemonFixture, PASSWORD } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** What people type, paste and press in forms. */

t.test('input is never lost without a question, and is sent once', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/servers'`)
  await page.click('.page-head >> text=New server')
  await page.fill('.dialog input >> nth=0', 'half a form')
  const weight = page.locator('.dialog .field:has(> label:text-is("Weight")) input')
  await weight.fill('')
  await weight.pressSequentially('0.05')
  test.equal(await weight.inputValue(), '0.05', 'a number stays as typed')
  await weight.fill('7')
  let [asked, leaves] = [0, false]
  page.on('dialog', async (question) => {
    asked += 1
    await (leaves ? question.accept() : question.dismiss())
  })
  /** A second key may arrive while a browser still closes the question. */
  async function asksAt(act: () => Promise<unknown>): Promise<void> {
    const before = asked
    await act()
    await until(
      'the question',
      () => asked,
      (now) => now > before,
      30_000,
    )
    await page.waitForSelector('.dialog[open]')
  }
  await asksAt(() => page.keyboard.press('Escape'))
  // Chromium closes a dialog at the second Escape, whatever the page does.
  for (let times = 0; times < 2; times++) await page.keyboard.press('Escape')
  await asksAt(() => page.evaluate('history.back()'))
  test.equal(await page.evaluate('location.hash'), '#/servers')
  test.equal(await page.inputValue('.dialog input >> nth=0'), 'half a form')
  const before = asked

  const held: (() => void)[] = []
  await page.route('**/ipvsDirector/rips', async (route) => {
    if (route.request().method() === 'POST') await new Promise<void>((resolve) => held.push(resolve))
    await route.continue()
  })
  await page.fill('.dialog .field:has(> label:has-text("IP")) input', '127.0.0.1')
  for (let times = 0; times < 2; times++) await page.keyboard.press('Enter')
  await page.waitForSelector('.dialog-foot .main[aria-busy=true]')
  await until(
    'the request',
    () => held.length,
    (count) => count > 0,
  )
  for (const go of held) go()
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.equal(held.length, 1, 'sent once')
  test.equal(asked, before, 'no question after saving')

  leaves = true
  await page.click('.page-head >> text=New server')
  await page.fill('.dialog input >> nth=0', 'for nothing')
  await page.click('.dialog-head [aria-label=Close]')
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.equal(asked, before + 1)
  test.same(faults, [])
})

t.test('pasted spaces around a word are not sent', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page, PASSWORD, ' admin@localhost ')
  await page.waitForSelector('.menu')
  await page.evaluate(`location.hash = '#/servers'`)
  await page.click('.page-head >> text=New server')
  await page.fill('.dialog .field:has(> label:has-text("Name")) input', 'web one')
  await page.click('.dialog .late > summary')
  await page.fill('.dialog .field:has(> label:text-is("Owner")) input', ' shop ')
  await page.fill('.dialog .field:has(> label:has-text("IP")) input', '\t127.0.0.1 ')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.dialog', { state: 'detached' })
  const [server] = await daemon.data('GET', '/ipvsDirector/rips')
  test.match(server, { name: 'web one', ip: '127.0.0.1', owner: 'shop' })

  await page.evaluate(`location.hash = '#/cluster'`)
  const sent: unknown[] = []
  await page.route('**/cluster/join', (route) => {
    sent.push(route.request().postDataJSON())
    return route.fulfill({ status: 422, json: { status: 'error', code: 'INVALID', message: 'no such cluster' } })
  })
  for (const name of ['token', 'address', 'nodeName'])
    await page.fill(`input[name=cluster-${name}] >> nth=-1`, ` ${name} `)
  await page.click('button:has-text("Preview")')
  await page.waitForSelector('main .problem:has-text("no such cluster")')
  test.match(sent, [{ token: 'token', address: 'address', nodeName: 'nodeName' }])
  test.same(faults, [])
})

t.test('a double click is one press', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const server = (name: string) => daemon.data('POST', '/ipvsDirector/rips', { name, ip: '127.0.0.1', port: 8080 })
  const { id } = await server('one')
  await server('two')
  await daemon.data('PUT', '/services/apply', { confirmWithin: 900 })
  const { page, faults } = await openedPage(test, daemon.port)
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'PUT' && sent.push(new URL(request.url()).pathname))
  await logIn(page)
  await page.dblclick('.confirm-bar >> text=Keep')
  await page.waitForSelector('.toast:has-text("Revision 2 is kept")')
  await page.evaluate(`location.hash = '#/servers/${id}'`)
  await page.dblclick('.page-head >> text=Drain')
  await page.waitForSelector('.page-head >> text=Bring online')
  await page.dblclick('.page-head >> text=Bring online')
  await page.waitForSelector('.page-head >> text=Drain')
  await page.dblclick('main >> text=Maintenance: drain')
  await page.waitForSelector('progress')
  test.same(
    sent.map((path) => path.slice(path.lastIndexOf('/') + 1)),
    ['confirm', 'drain', 'online', 'drain'],
  )
  test.equal(await page.locator('.toast.bad').count(), 0)
  test.same(faults, [])
})

t.test('a form shows what has to be filled in', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  const field = (label: string) => page.locator(`.dialog .field:has(> label:has-text("${label}"))`)
  const created = async () => {
    await page.click('.dialog-foot .main')
    await page.waitForSelector('.dialog', { state: 'detached' })
  }
  await logIn(page)
  await page.click('.menu a:has-text("Services")')
  await page.click('.page-head >> text=Layer 7')
  await field('Name').locator('input').fill('mail')
  await field('Mode').locator('select').selectOption('tcp')
  await field('IP').locator('input').fill('127.0.0.1')
  await field('Ports').locator('input').fill('2525')
  test.ok(await field('Default backend').isVisible())
  await created()
  test.match(await daemon.data('GET', '/layer7proxy/frontends'), [{ name: 'mail', mode: 'tcp', ports: '2525' }])

  await page.click('.menu a:has-text("Certificates")')
  await page.click('.page-head >> text=Upload')
  const { cert, key } = certificateMaker(test).pair({ name: 'shop.example.org' })
  await field('Name').locator('input').fill('shop')
  const pem = field('PEM').first().locator('textarea')
  await pem.fill(`${cert}${key}`)
  test.equal(await pem.inputValue(), `${cert}${key}`, 'line by line')
  await created()
  const [certificate] = await daemon.data('GET', '/certificates/certs')
  test.match(certificate, { name: 'shop' })
  await page.route('**/certificates/certs?*', (route) =>
    route.fulfill({ json: { status: 'ok', data: [{ ...certificate, validTo: '2026-01-02T03:04:05.000Z' }] } }),
  )
  await page.reload()
  const end = page.locator('tr:has-text("shop") .badge.bad')
  test.equal(await end.innerText(), 'expired')

  await page.evaluate("location.hash = '#/alerts'")
  await page.click('.page-head button:has-text("Target")')
  await field('Name').first().locator('input').fill('chat')
  await field('URL').first().locator('textarea').fill('https://chat.example.org/hook')
  await created()
  await page.click('.page-head button:has-text("Target")')
  await field('Name').first().locator('input').fill('duty')
  await page.selectOption('.dialog select >> nth=0', 'mail')
  await page.waitForSelector('.dialog .field:not(details *):has(> label:has-text("Host"))')
  const offered = await page.locator('.dialog .field:not(details *):not(.field .field) > label').allInnerTexts()
  test.match(offered.join(), /^Name[^,]*,Type[^,]*,Host,From,.*Username,Password/, 'what a mail needs, and no URL')
  await field('Host').first().locator('input').fill('mail.example.org')
  await field('From').first().locator('input').fill('lb@example.org')
  const to = page.locator('.dialog fieldset:has(> legend:text-is("To"))')
  await to.locator('button').click()
  await to.locator('input').fill('duty@example.org')
  test.notMatch(await page.innerText('.dialog'), /null: none/, 'nor what an empty field is in JSON')
  await created()
  test.match(await daemon.data('GET', '/alerts/targets'), [
    { name: 'chat', type: 'webhook' },
    { name: 'duty', type: 'mail', to: ['duty@example.org'] },
  ])

  await page.evaluate("location.hash = '#/account'")
  await page.click('.card-actions button:has-text("User")')
  await field('Email').locator('input').fill('ann@localhost')
  await field('Password').locator('input').fill('a long password')
  await field('Firstname').locator('input').fill('Ann')
  await field('Lastname').locator('input').fill('Other')
  test.notOk(await page.isChecked('.dialog [role=switch]'), 'whether she is kept out is a switch')
  await created()
  const people: readonly { readonly email: string }[] = await daemon.data('GET', '/localUsers/users')
  test.match(
    people.find(({ email }) => email === 'ann@localhost'),
    { disabled: false },
  )
  test.same(faults, [])
})
