import t from 'tap'
import { daemonFixture, PASSWORD } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { noFirefox, openedFirefox } from '../fixtures/firefox.ts'
import { freePort, originAt } from '../fixtures/traffic.ts'

/** The most frequent tasks, in Firefox: all others are tested in Chromium. */

t.test('in Firefox: log in, publish, confirm, drain, read requests', { skip: noFirefox }, async (test) => {
  const daemon = await daemonFixture(test)
  const [port, origin] = [await freePort(), await freePort()]
  test.teardown(await originAt(origin))
  const page = await openedFirefox(test, daemon.port)
  await page.fill('input[name=username]', 'admin@localhost')
  await page.fill('input[name=password]', PASSWORD)
  await page.click('button[type=submit]')

  await page.click('.empty button', 'Publish')
  await page.fill('.dialog label:nth-of-type(1) input', 'shop')
  await page.fill('.dialog label:nth-of-type(2) input', `127.0.0.1:${port}`)
  await page.fill('.dialog textarea', `127.0.0.1:${origin}`)
  await page.click('.dialog-foot button', 'Preview')
  await page.place('.dialog .change')
  await page.click('.dialog-foot button', 'Go live')
  await page.click('.confirm-bar button', 'Keep')
  await page.gone('.confirm-bar')
  test.match(await daemon.data('GET', '/services/apply'), { state: 'idle', revision: 2 })
  for (let n = 0; n < 3; n++) test.equal((await fetch(`http://127.0.0.1:${port}/asked/${n}`)).status, 200)
  await page.place('main td', 'serving')
  await page.place('.live', 'live')

  // The session survives a reload, by a cookie that only the page can use.
  await page.open(`https://127.0.0.1:${daemon.port}/#/servers`)
  await page.click('tbody input[type=checkbox]')
  await page.click('.bulk button', 'Drain')
  await page.click('.pill.waiting')
  await page.place('.dialog .change')
  await page.click('.dialog-foot button', 'Apply all')
  await page.place('.dialog .problem[role=alert]')
  await page.click('.problem.warn input')
  await page.click('.dialog-foot button', 'Apply all')
  await page.gone('.dialog')
  const [server] = await daemon.data('GET', '/ipvsDirector/rips')
  test.match(server, { state: 'drained' })
  await page.click('tbody a')
  await page.place('.page-head button', 'Bring online')

  const kept = () => daemon.data('GET', `/${daemon.node}/layer7proxy/logs`)
  await until('requests are kept', kept, (rows) => rows.some(({ path }: { path: string }) => path === '/asked/2'))
  await page.click('.menu a', 'Traffic')
  await page.place('main .uplot')
  await page.place('main td', '/asked/2')
  await page.click('.filters [placeholder="/login"]')
  await page.type('/asked/1\uE007')
  const others = "[...document.querySelectorAll('main td')].some((one) => one.textContent.includes('/asked/2'))"
  await until(
    'only what was searched for',
    () => page.evaluate<boolean>(others),
    (isShown) => !isShown,
  )
  await page.place('main td', '/asked/1')
  test.same(page.faults, [])
})
