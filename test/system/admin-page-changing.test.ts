import { readFileSync } from 'node:fs'
import t from 'tap'
import { logIn, noBrowser, openedPage, turn } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { freePort, originAt } from '../fixtures/traffic.ts'

/** The page while what it shows changes. */

t.test('services that run until the next apply', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('main td:has-text("demo-frontend")')
  const { id } = (await daemon.data('GET', '/layer7proxy/frontends'))[0]
  await daemon.data('DELETE', `/layer7proxy/frontends/${id}`)
  const saysSo = 'main .empty:has-text("The next apply removes all services."):has-text("keep running: 1 service")'
  await page.waitForSelector(saysSo)
  for (const name of ['services', 'traffic']) {
    await page.goto(`https://127.0.0.1:${daemon.port}/#/${name}`)
    await page.waitForSelector(saysSo)
  }
  await page.click('main .empty button:has-text("Show")')
  // An error in a dialog is shown in the dialog, where it can be read and closed.
  const refusal = { status: 'error', code: 'IN_USE', message: 'something needs it' }
  await page.route('**/services/pending/*', (route) => route.fulfill({ status: 409, json: refusal }))
  await page.click('dialog [aria-label^="Discard the change"]')
  await page.click('dialog .toast.bad:has-text("something needs it") [aria-label=Close]')
  await page.waitForSelector('.toast', { state: 'detached' })
  const [{ id: changeId }] = (await daemon.data('GET', '/services/pending')).changes
  const applied = page.waitForRequest((request) => request.url().endsWith('/services/apply'))
  await page.click('dialog button:has-text("Apply all")')
  test.match((await applied).postDataJSON(), { changes: [changeId] }, 'the changes shown go live')
  await page.waitForSelector('main .empty:has-text("No services yet.")')
  test.same(faults, [])
})

t.test('a server that fails, and an alert that ends, while they are shown', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const port = await freePort()
  const end = await originAt(port)
  const { id: ripId } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'web', ip: '127.0.0.1', port })
  const healthCheck = { type: 'tcp', interval: 1, rise: 1, fall: 1 }
  const backend = { name: 'shop', mode: 'http', reals: [{ ripId }], healthCheck }
  await daemon.data('POST', '/layer7proxy/backends', backend)
  const rule = { name: 'down', severity: 'critical', when: { type: 'serverDown' }, for: 0, clearFor: 0 }
  await daemon.data('POST', '/alerts/rules', { ...rule, targets: [] })
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.click('.menu a:has-text("Servers")')
  await page.waitForSelector('main .badge.good:has-text("up")')
  const hour = () => new Date().toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit' })
  const before = hour()
  await end()
  await page.waitForSelector('main .badge.bad:has-text("down")')
  await page.click('.menu a:has-text("Overview")')
  await page.click('.needs li:has-text("web of shop is down") >> text=Show')
  await page.waitForSelector('main h1 bdi:text-is("web")')
  const standing = page.locator('.card:has-text("In backends") li:has(.badge.bad)')
  await standing.waitFor()
  test.match(await standing.innerText(), new RegExp(`shop DOWN L4CON · since (${before}|${hour()}):\\d\\d`, 'u'))
  await page.click('.menu a:has-text("Alerts")')
  await page.waitForSelector('main li:has-text("ago"), main li:has-text("now")')
  test.teardown(await originAt(port))
  await page.waitForSelector('main .empty:has-text("No alerts are firing.")')
  test.same(faults, [])
})

t.test('a search is also what is followed; the filter covers backends, too', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('main td:has-text("demo-frontend")')
  const chip = '.chips li:has-text("demo-backend")'
  await page.evaluate(`location.hash = '#/services'`)
  await page.waitForSelector(chip)
  await page.fill('.filter', 'nobody')
  await page.waitForSelector(chip, { state: 'detached' })
  await page.evaluate(`location.hash = '#/traffic'`)
  const followed = (status: string) =>
    page.waitForRequest((one) => one.url().includes('/logs/stream?') && one.url().includes(status))
  const first = followed('frontendId')
  await page.click('button:has-text("Live")')
  await first
  const next = followed('status=5xx')
  await page.fill('[placeholder="5xx"]', '5xx')
  await page.click('.filters button')
  await next
  const left = page.waitForEvent('requestfailed', (one) => one.url().includes('/logs/stream?'))
  await turn(page, true)
  const other = await page.context().newPage()
  await other.goto(page.url())
  await left
  await other.close()
  const again = followed('status=5xx')
  await turn(page, false)
  await again
  await page.fill('[placeholder="5xx"]', 'many')
  await page.click('.filters button')
  await page.waitForSelector('main .problem')
  await page.waitForSelector('button[aria-pressed=false]:has-text("Live")')
  test.same(faults, [])
})

t.test('lines of another search do not stand below a refusal', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  let isBusy = false
  await page.route('**/layer7proxy/logs?*', (route) => {
    const isRefused = isBusy || route.request().url().includes('status=many')
    const line = { id: '1', time: new Date().toISOString(), source: '192.0.2.1', status: 200, path: '/found' }
    return route.fulfill(
      isRefused
        ? { status: 422, json: { status: 'error', code: 'INVALID_QUERY', message: 'not searched', data: null } }
        : { json: { status: 'success', message: '', data: [line], next: 'more' } },
    )
  })
  await logIn(page)
  await page.waitForSelector('main td:has-text("demo-frontend")')
  await page.evaluate(`location.hash = '#/traffic'`)
  const search = async (status: string, shown: string) => {
    await page.fill('[placeholder="5xx"]', status)
    await page.click('.filters button')
    await page.waitForSelector(`main ${shown}`)
  }
  await search('2xx', 'td:has-text("/found")')
  isBusy = true
  await search('2xx', '.problem:has-text("not searched")')
  test.equal(await page.locator('main td:has-text("/found")').count(), 1, 'what this search found earlier')
  isBusy = false
  await search('2xx', 'td:has-text("/found")')
  await search('many', '.problem:has-text("not searched")')
  test.equal(await page.locator('main td:has-text("/found")').count(), 0)
  test.equal(await page.locator('button:has-text("More")').count(), 0)
  test.same(faults, [])
})

t.test('answers that overtake each other: the last choice is shown', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test, ['--demo'])
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('main td:has-text("demo-frontend")')
  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/history?*', async (route) => {
    if (route.request().url().includes('bytesIn')) await held
    await route.continue()
  })
  const line = (path: string) => ({ id: path, time: new Date().toISOString(), source: '192.0.2.1', status: 200, path })
  await page.route('**/layer7proxy/logs?*', async (route) => {
    const asked = new URL(route.request().url()).searchParams
    if (asked.get('status') === '5xx') await held
    const path = `/${asked.get('status')}/${asked.get('after')}/${asked.get('path')}`
    await route.fulfill({ json: { status: 'success', message: '', data: [line(path)], next: 'more' } })
  })
  const overtaken = [
    page.waitForResponse((one) => one.url().includes('bytesIn')),
    page.waitForResponse((one) => one.url().includes('status=5xx')),
  ]
  await page.evaluate(`location.hash = '#/traffic'`)
  const begun = page.waitForRequest((one) => one.url().includes('bytesIn'))
  await page.click('.chart-bar button:has-text("Bytes")')
  await begun
  await page.click('.chart-bar button:has-text("Sessions")')
  await page.waitForSelector('.u-legend:has-text("Open sessions")')
  for (const status of ['5xx', '2xx']) {
    await page.fill('[placeholder="5xx"]', status)
    const searched = page.waitForRequest((one) => one.url().includes(`status=${status}`))
    await page.click('.filters button')
    await searched
  }
  await page.waitForSelector('main td:has-text("/2xx/null/null")')
  answer()
  await Promise.all(overtaken)
  await page.fill('[placeholder="/login"]', '/typed-since')
  await page.click('button:has-text("More")')
  await page.waitForSelector('main td:has-text("/2xx/more/null")')
  test.equal(await page.locator('main td:has-text("/5xx/")').count(), 0)
  const download = page.waitForEvent('download')
  await page.click('.card-actions button:has-text("CSV")')
  const [titles] = readFileSync(await (await download).path(), 'utf8').split('\n')
  test.equal(titles, '"time","currentSessions","sessionRate"')
  test.same(faults, [])
})

t.test('a service whose backend has no server is down', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const backend = await daemon.data('POST', '/layer7proxy/backends', { name: 'empty', mode: 'http' })
  for (const [name, defaultBackendId] of [
    ['alone', backend.id],
    ['without', undefined],
  ]) {
    const ports = String(await freePort())
    await daemon.data('POST', '/layer7proxy/frontends', {
      name,
      mode: 'http',
      ip: '127.0.0.1',
      ports,
      defaultBackendId,
    })
  }
  await daemon.data('PUT', '/services/apply')
  const { page } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('main tr:has-text("without") .badge:has-text("serving")')
  await page.waitForSelector('main tr:has-text("alone") .badge:has-text("down")')
})
