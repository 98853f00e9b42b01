import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { questionsOf } from '../fixtures/questions-asked.ts'

/** Questions of the page before it interrupts or ends something, and the effect of each answer. */

t.test('a program, an API token and a silence', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/localUsers/me/tokens', { name: 'backup job' })
  const { id: ruleId } = await daemon.data('POST', '/alerts/rules', {
    name: 'servers that fail',
    severity: 'critical',
    when: { type: 'serverDown' },
    targets: [],
  })
  await daemon.data('PUT', '/services/apply')
  await daemon.data('POST', '/alerts/silences', { ruleId, objectName: 'web*', reason: 'new racks', for: 3_600 })
  const { page, faults } = await openedPage(test, daemon.port)
  const questions = questionsOf(page)
  await logIn(page)
  await page.waitForSelector('.tiles')
  const sent: string[] = []
  page.on('request', (request) => {
    if (['PUT', 'DELETE'].includes(request.method())) sent.push(new URL(request.url()).pathname.replace('/api/v1', ''))
  })

  await page.click('.menu a:has-text("Node")')
  await page.route('**/restart', (route) => route.fulfill({ json: { status: 'success', message: 'Restarted' } }))
  const restart = () => page.click('main li:has-text("HAProxy") button:has-text("Restart")')
  test.match(await questions.at(restart), /^Restart .*HAProxy.*\? Its current work is interrupted\.$/)
  test.same(sent, [], 'nothing is sent after a no')
  questions.say(true)
  await restart()
  await page.waitForSelector('.toast:has-text("Restarted")')
  test.same(sent.splice(0), ['/services/layer7proxy/restart'])

  await page.click('.top a[aria-label=Account]')
  const remove = () => page.click('[aria-label="Delete backup job"]')
  questions.say(false)
  test.equal(await questions.at(remove), 'Delete backup job? Programs that use it are refused immediately.')
  test.equal((await daemon.data('GET', '/localUsers/me/tokens')).length, 1)
  test.same(sent, [], 'nothing is sent after a no')
  questions.say(true)
  await remove()
  await page.waitForSelector('.empty:has-text("No tokens yet.")')
  test.equal((await daemon.data('GET', '/localUsers/me/tokens')).length, 0)
  sent.splice(0)

  await page.click('.menu a:has-text("Alerts")')
  const silence = 'main li:has-text("servers that fail · web*"):has-text("new racks · admin@localhost")'
  const end = () => page.click(`${silence} >> text=End`)
  questions.say(false)
  test.equal(
    await questions.at(end),
    'End the silence of servers that fail · web*? Alerts that are still firing will be sent.',
  )
  test.same(sent, [], 'nothing is sent after a no')
  questions.say(true)
  await end()
  await page.waitForSelector('main .empty:has-text("No active silences.")')
  test.same(await daemon.data('GET', '/alerts/silences'), [])
  test.same(faults, [])
})

t.test('the change that waits for confirmation is the one shown', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 8080 })
  await daemon.data('PUT', '/services/apply', { confirmWithin: 900 })
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.confirm-bar [aria-label="Keep revision 2 by admin@localhost"]')
  await page.click('.needs li:has-text("unless you confirm it") >> text=Show')
  await page.waitForSelector('[aria-label="Revision 2"] .change:has-text("one")')
  test.equal(await page.locator('.dialog .change .badge').count(), 0, 'a revision has no effect to come')
  await page.keyboard.press('Escape')
  // The page has not seen changes made meanwhile.
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/overview', async (route) => {
    await released
    await route.continue()
  })
  await daemon.data('PUT', '/services/apply/confirm')
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'two', ip: '127.0.0.2', port: 8080 })
  await daemon.data('PUT', '/services/apply', { confirmWithin: 900 })
  await page.click('.confirm-bar [aria-label="Keep revision 2 by admin@localhost"]')
  release()
  await page.waitForSelector('.toast.bad:has-text("A newer revision is waiting")')
  test.match(await daemon.data('GET', '/services/apply'), { state: 'waiting', revision: 3 })
  await page.click('.confirm-bar [aria-label="Revert revision 3 by admin@localhost now"]')
  await page.waitForSelector('.confirm-bar', { state: 'detached' })
  test.match(await daemon.data('GET', '/services/apply'), { state: 'idle' })
  test.same(faults, [])
})
