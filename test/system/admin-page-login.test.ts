import { decodeQR } from 'qr/decode.js'
import t from 'tap'
import { hotp } from '../../src/auth/totp.ts'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture, PASSWORD } from '../fixtures/daemon.ts'

/** Logins on the page, and the page when a session or the daemon ends. */

t.test(
  'a session that ends locks the page and loses no form; an unreachable daemon is reported',
  { skip: noBrowser },
  async (test) => {
    const daemon = await daemonFixture(test, ['--demo'])
    const { page } = await openedPage(test, daemon.port)
    await logIn(page)
    await page.click('text=Publish a service')
    await page.fill('.dialog input >> nth=0', 'half a form')
    const lock = async () => {
      const all = await daemon.data('GET', '/localUsers/me/sessions')
      for (const { id, isCurrent } of all) if (!isCurrent) await daemon.data('DELETE', `/localUsers/me/sessions/${id}`)
      await page.waitForSelector('.locked input[name=password]')
    }
    await lock()
    // Chromium closes a dialog at the second Escape, whatever the page does.
    for (let times = 0; times < 3; times++) await page.keyboard.press('Escape')
    // A third Escape may reach the form before the page knows of the second one: it closes both.
    await page.evaluate("for (const one of ['.locked', '.dialog']) document.querySelector(one).close()")
    await page.waitForSelector('.dialog[open]')
    await page.keyboard.press('Control+k')
    test.equal(await page.locator('dialog.search').count(), 0, 'no search before a login')
    await page.fill('.locked input[name=password]', PASSWORD)
    await page.click('.locked button[type=submit]')
    await page.waitForSelector('.locked', { state: 'detached' })
    test.equal(await page.inputValue('.dialog input >> nth=0'), 'half a form')
    const roles = await daemon.data('GET', '/rbac/roles')
    const { id: role } = roles.find(({ name }: { name: string }) => name === 'Administrator')
    const ann = { email: 'ann@x.test', firstname: 'Ann', lastname: 'Other', password: PASSWORD, roles: [role] }
    await daemon.data('POST', '/localUsers/users', { ...ann, disabled: false })
    await daemon.data('PUT', '/services/apply')
    await lock()
    await page.fill('.locked input[name=username]', ann.email)
    await page.fill('.locked input[name=password]', PASSWORD)
    await page.click('.locked button[type=submit]')
    await page.waitForSelector('.locked', { state: 'detached' })
    await page.waitForSelector('.tiles')
    test.equal(await page.locator('.dialog').count(), 0, 'a form is not shown to another user')
    await page.click('text=Publish a service')
    await page.fill('.dialog input >> nth=0', 'half a form')
    await page.keyboard.press('Escape')
    await daemon.kill('SIGKILL')
    await page.waitForSelector('.live.away')
    test.ok(await page.isVisible('.tiles'), 'the last data is still shown')
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
  // The page logs out at once, however long the daemon takes to end the session.
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

t.test('data of one user is not shown to the next', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('main td:has-text("demo-frontend")')
  await page.click('text=Publish a service')
  await page.waitForSelector('.dialog')
  await page.evaluate("document.querySelector('.log-out').click()")
  await page.waitForSelector('main.login')
  // Until the next user is answered, nothing can be shown.
  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route(/\/(overview|frontends|backends)(\?|$)/, async (route) => {
    await held
    await route.continue()
  })
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.waitForSelector('main .loading')
  test.equal(await page.locator('.dialog').count(), 0)
  test.notMatch(await page.innerText('body'), /demo-frontend|HAProxy/)
  answer()
  await page.waitForSelector('main td:has-text("demo-frontend")')
  test.same(faults, [])
})

t.test(
  "the first screen's data is requested while the page asks for the owner of the session",
  { skip: noBrowser },
  async (test) => {
    const daemon = await daemonFixture(test, ['--demo'])
    const { page, faults } = await openedPage(test, daemon.port)
    await logIn(page)
    await page.waitForSelector('main td a')
    const asked: string[] = []
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname.replace('/api/v1', '')))
    const lists = [
      '/layer7proxy/frontends',
      '/layer7proxy/backends',
      '/ipvsDirector/frontends',
      '/ipvsDirector/backends',
    ]
    const all = Promise.all(
      ['/overview', ...lists].map((path) => page.waitForRequest((one) => one.url().includes(path))),
    )
    await page.route('**/localUsers/me', async (route) => {
      await all
      await route.continue()
    })
    await page.reload()
    await page.waitForSelector('main td a')
    // Requested again if an event arrives meanwhile, as when servers of the demonstration come up.
    for (const path of ['/overview', ...lists]) test.ok(asked.includes(path), path)
    test.same(faults, [])
  },
)
