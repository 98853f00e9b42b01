import { decodeQR } from 'qr/decode.js'
import t from 'tap'
import { hotp } from '../../src/auth/totp.ts'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture, PASSWORD } from '../fixtures/daemon.ts'
import { freePort, originAt } from '../fixtures/traffic.ts'

/** What people do on the admin page, against a real daemon and a real HAProxy, under the page's own policy. */

t.test('published in two fields, kept, edited, drained and taken back', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  const [port, origin] = [await freePort(), await freePort()]
  test.teardown(await originAt(origin))
  await logIn(page, 'wrong')
  await page.waitForSelector('[role=alert]')
  await logIn(page)
  await page.click('.empty button')
  await page.fill('.dialog input >> nth=0', 'shop <b>"1"</b>')
  await page.fill('.dialog input >> nth=1', `127.0.0.1:${port}`)
  await page.fill('.dialog textarea', `127.0.0.1:${origin}`)
  await page.click('text=Preview')
  await page.waitForSelector('.dialog .change')
  test.equal((await daemon.data('GET', '/services/pending')).count, 0, 'a preview leaves nothing behind')
  await page.click('text=Go live')
  await page.click('.confirm-bar >> text=Keep')
  await page.waitForSelector('.confirm-bar', { state: 'detached' })
  test.match(await daemon.data('GET', '/services/apply'), { state: 'idle', revision: 2 })
  test.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 200, 'it serves')

  // A reload of the page keeps who is logged in; markup in names is text.
  await page.reload()
  await page.click('main a:has-text("shop <b>")')
  await page.click('.actions >> text=Edit')
  await page.waitForSelector('.dialog .fields')
  await page.fill('.dialog input >> nth=0', '')
  await page.click('.dialog-foot .main')
  await page.waitForSelector('.dialog [aria-invalid=true]')
  test.match(await page.textContent('.dialog .error'), /character/, 'the refusal is beside the field')
  await page.fill('.dialog input >> nth=0', 'store')

  // Somebody else is quicker: both changes are there, and nothing is lost without a word.
  const [{ id }] = await daemon.data('GET', '/layer7proxy/frontends')
  await daemon.data('PUT', `/layer7proxy/frontends/${id}`, { timeoutClient: 77, name: 'theirs' })
  await page.click('.dialog-foot .main')
  await page.waitForSelector('.conflict')
  test.equal(await page.inputValue('.dialog input >> nth=0'), 'store')
  await page.click('.conflict >> text=Mine')
  await page.click('.dialog-foot .main')
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.match(await daemon.data('GET', `/layer7proxy/frontends/${id}`), { name: 'store', timeoutClient: 77 })

  await page.evaluate(`location.hash = '#/servers'`)
  await page.check('tbody input[type=checkbox]')
  await page.click('.bulk >> text=drain')
  await page.click('.pill.waiting')
  await page.waitForSelector('.dialog .change')
  await page.selectOption('.dialog-foot select', '0')
  await page.click('.dialog-foot >> text=Apply all')
  await page.click('.problem.warn input')
  await page.click('.dialog-foot >> text=Apply all')
  await page.waitForSelector('.dialog', { state: 'detached' })
  const [server] = await daemon.data('GET', '/ipvsDirector/rips')
  test.match(server, { state: 'drained' })

  await page.evaluate(`location.hash = '#/changes/revisions/3'`)
  await page.click('text=Take this one back')
  // The dialog of the revision shows the same change.
  await page.waitForSelector('[aria-label="Pending changes"] .change:has-text("drained")')
  test.ok((await daemon.data('GET', '/services/pending')).count > 0)
  test.same(faults, [])
})

t.test('by keyboard alone: log in, search, a page, an operation', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  await page.waitForSelector('input[name=username]:focus')
  await page.keyboard.type('admin@localhost')
  await page.keyboard.press('Tab')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForSelector('.tiles')
  await page.keyboard.press('Control+k')
  await page.waitForSelector('dialog.search')
  await page.keyboard.type('demo-origin-2')
  await page.waitForSelector('dialog.search [role=option]')
  await page.keyboard.press('Enter')
  await page.waitForSelector('h1:has-text("demo-origin-2")')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('operations')
  await page.keyboard.press('Enter')
  await page.waitForSelector('main .card li button')
  await page.focus('.filter')
  await page.keyboard.type('dateTime.timezones')
  await page.waitForFunction(`document.querySelectorAll('main .card li button').length === 1`)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.dialog')
  await page.click('.dialog-foot >> text=Ask')
  await page.waitForSelector('.dialog pre:has-text("Berlin")')
  await page.keyboard.press('Escape')
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.same(faults, [])
})

t.test(
  'a session that ends locks the page and loses no form; a daemon that is away is told of',
  { skip: noBrowser },
  async (test) => {
    const daemon = await daemonFixture(test, ['--demo'])
    const { page } = await openedPage(test, daemon.port)
    await logIn(page)
    await page.click('text=Publish a service')
    await page.fill('.dialog input >> nth=0', 'half a form')
    const all = await daemon.data('GET', '/localUsers/me/sessions')
    for (const { id, isCurrent } of all) if (!isCurrent) await daemon.data('DELETE', `/localUsers/me/sessions/${id}`)
    await page.waitForSelector('.locked input[name=password]')
    await page.fill('.locked input[name=password]', PASSWORD)
    await page.click('.locked button[type=submit]')
    await page.waitForSelector('.locked', { state: 'detached' })
    test.equal(await page.inputValue('.dialog input >> nth=0'), 'half a form')
    await page.keyboard.press('Escape')
    await daemon.kill('SIGKILL')
    await page.waitForSelector('.live.away')
    test.ok(await page.isVisible('.tiles'), 'what was seen last is still there')
  },
)

t.test('a second factor by the QR code, and a login with it', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.tiles')
  await page.evaluate(`location.hash = '#/account'`)
  const card = '.card:has(h2:has-text("Second factor"))'
  await page.fill(`${card} input[type=password]`, PASSWORD)
  await page.click(`${card} >> text=Set up`)
  await page.waitForSelector('.qr')
  const seen = await page.evaluate<{ width: number; height: number; data: number[] }>(`(async () => {
    const image = document.querySelector('.qr')
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: 400, height: 400 })
    const drawn = canvas.getContext('2d')
    drawn.fillStyle = 'white'
    drawn.fillRect(0, 0, 400, 400)
    drawn.drawImage(image, 20, 20, 360, 360)
    const { width, height, data } = drawn.getImageData(0, 0, 400, 400)
    return { width, height, data: [...data] }
  })()`)
  const uri = new URL(decodeQR({ ...seen, data: Uint8Array.from(seen.data) }))
  test.equal(uri.protocol, 'otpauth:')
  const secret = uri.searchParams.get('secret') ?? ''
  test.equal(await page.textContent(`${card} code`), secret)
  await page.fill(`${card} input[inputmode=numeric]`, hotp(secret, Math.floor(Date.now() / 30_000)))
  await page.click(`${card} >> text=Confirm`)
  await page.waitForSelector(`${card} pre`)
  // Logged out at once, however long the daemon takes to end the session.
  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/api/v1/token', async (route) => {
    if (route.request().method() === 'DELETE') await held
    await route.continue()
  })
  await page.click('text=Log out')
  await page.waitForSelector('main.login')
  answer()
  await logIn(page)
  await page.waitForSelector('input[autocomplete=one-time-code]')
  await page.fill('input[autocomplete=one-time-code]', '000000')
  await page.click('button[type=submit]')
  await page.waitForSelector('[role=alert]')
  test.same(faults, [])
})
