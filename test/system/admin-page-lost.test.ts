import t from 'tap'
import { hotp } from '../../src/auth/totp.ts'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture, PASSWORD } from '../fixtures/daemon.ts'
import { questionsOf } from '../fixtures/questions-asked.ts'

/** Typed input, and secrets shown once, are never lost without a question. */

const TYPED = 'Your changes are not saved. Discard them?'
const ONCE = 'This is shown only once. Close it?'

t.test('input outside of a dialog, and JSON that has the focus', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const ports = '18080'
  const { id } = await daemon.data('POST', '/layer7proxy/frontends', {
    name: 'shop',
    mode: 'http',
    ip: '127.0.0.1',
    ports,
  })
  const { page, faults } = await openedPage(test, daemon.port)
  const questions = questionsOf(page)
  await logIn(page)
  await page.waitForSelector('.tiles')
  const leave = () => page.click('.menu a:has-text("Overview")')

  await page.click('.top a[aria-label=Account]')
  await page.fill('.card:has(h2:has-text("Password")) input >> nth=0', 'half')
  test.equal(await questions.at(leave), TYPED)
  test.equal(await page.inputValue('.card:has(h2:has-text("Password")) input >> nth=0'), 'half')
  const before = questions.asked.length
  // Input behind a dialog is not lost with the dialog.
  await page.click('button:has-text("New token")')
  await page.waitForSelector('.dialog .field')
  await page.keyboard.press('Escape')
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.equal(questions.asked.length, before)
  await page.fill('.card:has(h2:has-text("Password")) input >> nth=0', '')

  await page.click('.menu a:has-text("Cluster")')
  await page.fill('input[name=cluster-token]', 'fj1.half')
  test.equal(await questions.at(leave), TYPED)
  await page.fill('input[name=cluster-token]', '')

  await page.evaluate(`location.hash = '#/services/layer7/${id}'`)
  await page.click('.page-head .actions >> text=Edit')
  await page.click('.dialog .late > summary')
  await page.fill('div.field:has(> label:text-is("HSTS")) > textarea', '{ "maxAge": 300 }')
  test.equal(await questions.at(() => page.keyboard.press('Escape')), TYPED)
  test.ok(await page.isVisible('.dialog'))
  questions.say(true)
  await questions.at(() => page.keyboard.press('Escape'))
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.same(faults, [])
})

t.test('secrets shown once', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  const questions = questionsOf(page)
  await logIn(page)
  await page.waitForSelector('.tiles')
  await page.click('.top a[aria-label=Account]')
  await page.click('button:has-text("New token")')
  await page.fill('.dialog .field:has(> label:has-text("Name")) input', 'once')
  await page.click('.dialog-foot button:has-text("Send")')
  await page.waitForSelector('.dialog pre:has-text("token")')
  test.equal(await questions.at(() => page.keyboard.press('Escape')), ONCE)
  await page.click('.dialog-foot button:has-text("Close")')
  await page.waitForSelector('.dialog', { state: 'detached' })

  const self = { id: 'a', name: 'first', address: 'a:9444', state: 'online', isVoter: true, isLeader: true }
  const more = { certificateEnd: null, version: '1', since: new Date().toISOString(), isSelf: true, ahead: 0 }
  const nodes = [{ ...self, ...more, maintenance: null, isReady: true, floatingIps: [] }]
  const cluster = { id: 'c', name: 'both', quorum: true, halted: null, removedAt: null, histories: null, nodes }
  const answered = (data: object) => ({ json: { status: 'success', message: '', data } })
  await page.route('**/api/v1/cluster', (route) =>
    route.fulfill(answered({ ...cluster, witness: null, spareVotes: 0 })),
  )
  const token = { token: 'fj1.secret', expiresAt: new Date(Date.now() + 3_600_000).toISOString() }
  await page.route('**/cluster/tokens', (route) => route.fulfill(answered(token)))
  await page.click('.menu a:has-text("Cluster")')
  await page.click('button:has-text("Add a node")')
  await page.click('button:has-text("Create the token")')
  await page.waitForSelector('.steps textarea')
  // A browser that lets no page write to its clipboard: the token is selected, to be copied with the keyboard.
  await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))`)
  await page.click('.steps button:has-text("Copy")')
  const selected = `document.activeElement?.matches('.steps textarea') && String(getSelection())`
  await page.waitForFunction(`${selected} === 'fj1.secret'`)
  test.equal(await questions.at(() => page.keyboard.press('Escape')), ONCE)
  test.equal(await page.inputValue('.steps textarea'), 'fj1.secret')
  await page.click('.dialog-foot button:has-text("Close")')
  await page.waitForSelector('.dialog', { state: 'detached' })
  test.same(faults, [])
})

t.test(
  'recovery codes stay until they are saved, whoever was required to set up a second factor',
  { skip: noBrowser },
  async (test) => {
    const daemon = await daemonFixture(test)
    await daemon.data('PUT', '/login/policy', { twoFactorRequired: true })
    await daemon.data('PUT', '/services/apply')
    const { page, faults } = await openedPage(test, daemon.port)
    const questions = questionsOf(page)
    await logIn(page)
    const card = '.card:has(h2:has-text("Second factor"))'
    await page.fill(`${card} input[type=password]`, PASSWORD)
    await page.click(`${card} >> text=Set up`)
    await page.waitForSelector('.qr')
    const secret = (await page.textContent(`${card} code`)) ?? ''
    const digits = hotp(secret, Math.floor(Date.now() / 30_000))
    // Formatted as apps show it.
    await page.fill(`${card} input[inputmode=numeric]`, `${digits.slice(0, 3)} ${digits.slice(3)} `)
    await page.click(`${card} >> text=Confirm`)
    const codes = await page.innerText(`${card} pre`)
    test.match(codes, /^\S+(\n\S+)+$/)
    // From here on everything is granted.
    await page.waitForSelector('.menu a:has-text("Servers")')
    test.equal(await questions.at(() => page.click('.menu a:has-text("Servers")')), ONCE)
    test.equal(await page.innerText(`${card} pre`), codes)
    await page.click(`${card} >> text=I have stored them`)
    await page.waitForSelector(`${card} pre`, { state: 'detached' })
    await page.click('.menu a:has-text("Servers")')
    await page.waitForSelector('h1:has-text("Servers")')
    test.same(faults, [])
  },
)
