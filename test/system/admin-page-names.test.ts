import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, originAt } from '../fixtures/traffic.ts'

/** Names as users choose them, on the page. */

const NAMES = [
  '<img src=x onerror="alert(1)"> & <script>document.title = 1</script>',
  'خادم الويب الأول (1)',
  `${'a very long name without an end '.repeat(3)}!`.slice(0, 100),
  'W'.repeat(100),
  '${7*7} {count} %s',
]

t.test('names with markup, of great length, and from right to left', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  for (const [at, name] of NAMES.entries()) {
    const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name, ip: '127.0.0.1', port: 8080 + at })
    const reals = [{ ripId: id }]
    const backend = await daemon.data('POST', '/layer7proxy/backends', { name, mode: 'http', reals })
    const defaultBackendId = backend.id
    const frontend = { name, ip: '127.0.0.1', ports: String(18_080 + at), mode: 'http', enabled: false }
    await daemon.data('POST', '/layer7proxy/frontends', { ...frontend, defaultBackendId })
  }
  for (const width of [1280, 360]) {
    const { page, faults } = await openedPage(test, daemon.port, { viewport: { width, height: 800 } })
    await logIn(page)
    for (const place of ['overview', 'services', 'servers', 'traffic']) {
      await page.evaluate(`location.hash = '#/${place}'`)
      await page.waitForSelector('.loading', { state: 'detached' })
      await page.waitForSelector(`main :text-is("${NAMES[1]}")`, { state: 'attached' })
      test.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), `${place} fits ${width}`)
      for (const name of NAMES) test.ok((await page.textContent('main'))?.includes(name), `${place}: ${name}`)
    }
    // Each server's own page, where the name is the heading.
    for (const { id, name } of await daemon.data('GET', '/ipvsDirector/rips')) {
      await page.evaluate(`location.hash = '#/servers/${id}'`)
      const heading = () => page.evaluate("document.querySelector('main h1')?.textContent")
      await until('the heading', heading, (text) => text === name)
      test.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), `${name} fits ${width}`)
      await until(
        'the title',
        () => page.title(),
        (title) => title === `${name} · Fulcrum`,
      )
    }
    await page.click('.pill')
    await page.waitForSelector('.dialog .change')
    test.notOk(
      await page.evaluate(`(() => {
      const dialog = document.querySelector('.dialog-body')
      return dialog.scrollWidth > dialog.clientWidth
    })()`),
      `pending changes fit ${width}`,
    )
    test.equal(await page.locator('main img, main script').count(), 0)
    test.equal(await page.evaluate(`getComputedStyle(document.querySelector('.change bdi')).unicodeBidi`), 'isolate')
    test.same(faults, [])
  }
})

t.test('no column of a table is out of sight', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const make = async (path: string, body: object) => (await daemon.data('POST', path, body)).id
  const name = 'web-1-with-a-rather-long-name.eu-central.example.org'
  const server = async (called: string, ip: string, port: number) => ({
    ripId: await make('/ipvsDirector/rips', { name: called, ip, port }),
  })
  const port = await freePort()
  test.teardown(await originAt(port))
  const reals = [await server(name, '127.100.100.101', await freePort()), await server('web-2', '127.0.0.1', port)]
  const healthCheck = { type: 'tcp', interval: 1, fall: 1 }
  const defaultBackendId = await make('/layer7proxy/backends', { name, mode: 'http', reals, healthCheck })
  const frontend = { name, ip: '127.0.0.1', ports: String(await freePort()), mode: 'http', defaultBackendId }
  const id = await make('/layer7proxy/frontends', frontend)
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port, { locale: 'de-DE' })
  await logIn(page)
  for (const width of [1440, 1100, 1024, 390, 360]) {
    await page.setViewportSize({ width, height: 800 })
    for (const place of ['overview', 'services', 'servers', `services/layer7/${id}`]) {
      await page.evaluate(`location.hash = '#/${place}'`)
      await page.waitForSelector('main tbody .badge:is(:has-text("gestört"), :has-text("eingeschränkt"))')
      const beyond = "[...document.querySelectorAll('.table-box')].map((box) => box.scrollWidth - box.clientWidth)"
      test.same(await page.evaluate(beyond), [0], `${place} at ${width}`)
    }
    const header = Number(await page.evaluate("document.querySelector('.top').clientHeight"))
    test.ok(width < 390 || header < 60, `${header} px: the header has one line at ${width}`)
  }
  test.ok(await page.isVisible('.page-head button:has-text("Pausieren")'), 'a service does not halt as a server does')
  const link = (called: string, state: string) => ({ id: called, name: called, state, addresses: [] })
  const data = [link('eth0', 'up'), link('eth1', 'down')]
  await page.route('**/interfaces', (route) => route.fulfill({ json: { status: 'ok', data } }))
  await page.evaluate("location.hash = '#/node'")
  await page.waitForSelector('li:has-text("eth0") .badge')
  test.same(await page.locator('li:has-text("eth") .badge').allInnerTexts(), ['verbunden', 'nicht verbunden'])
  test.same(faults, [])
})

/** How far the texts of requests reach beyond their cells. */
const BEYOND = `[...document.querySelectorAll('main td:has(.request)')].map((cell) => {
  const [text, box] = [document.createRange(), cell.getBoundingClientRect()]
  text.selectNodeContents(cell)
  const { right, bottom } = text.getBoundingClientRect()
  return Math.max(0, Math.round(right - box.right), Math.round(bottom - box.bottom))
})`

t.test('the whole request of an entry of the audit log can be read', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  let entries = 0
  await page.route('**/audit?*', (route) => {
    const [at, method, outcome] = [new Date().toISOString(), 'DELETE', 'done']
    const path = '/api/v1/ipvsDirector/rips/01a22d00-3b34-7000-a7d4-0123456789ab/maintenance'
    const one = { at, by: 'admin@localhost', address: '127.0.0.1', endpoint: '', method, path, outcome, status: 200 }
    const data = Array.from({ length: entries }, (_, seq) => ({ ...one, seq }))
    return route.fulfill({ json: { status: 'success', message: '', data } })
  })
  await logIn(page)
  await page.waitForSelector('.tiles')
  for (const length of [2, 200])
    for (const width of [1280, 1024, 360]) {
      entries = length
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate("location.hash = '#/overview'")
      await page.waitForSelector('.tiles')
      await page.evaluate("location.hash = '#/changes/audit'")
      await page.waitForSelector('main td .request')
      test.same(new Set(await page.evaluate<readonly number[]>(BEYOND)), new Set([0]), `${length} entries at ${width}`)
    }
  test.same(faults, [])
})
