import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join as pathOf } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { die, threeNodes } from '../fixtures/cluster-sight.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { freePort } from '../fixtures/traffic.ts'

/**
 * Pictures of every page and designed state in each look, to be looked at by a person; those of docs/images are chosen
 * from them: `FULCRUM_TEST_PICTURES=FOLDER npm test -- --timeout=600 test/system/admin-page-pictures.test.ts`.
 */

const FOLDER = process.env['FULCRUM_TEST_PICTURES'] ?? ''
const skip = FOLDER === '' ? 'FULCRUM_TEST_PICTURES names no folder' : noBrowser

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: {},
  dark: { colorScheme: 'dark' },
  narrow: { viewport: { width: 360, height: 740 } },
}
const PAGES =
  'overview services servers traffic certificates changes changes/audit alerts cluster node operations account'

/** What a small site has: two services, one with a server that is down, and a change that waits. */
async function site(test: Test): Promise<Daemon> {
  const daemon = await daemonFixture(test)
  const origin = createServer((_, answer) => void answer.end('hello'))
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  test.teardown(() => origin.close())
  const { port } = origin.address() as AddressInfo
  const ca = certificateMaker(test)
  const { cert, key } = ca.pair({ name: 'shop.example.org', names: 'DNS:shop.example.org' })
  await daemon.data('POST', '/certificates/certs', { name: 'shop.example.org', pem: `${cert}\n${key}` })
  const server = (name: string, at: number) =>
    daemon.data('POST', '/ipvsDirector/rips', { name, ip: '127.0.0.1', port: at })
  const [web1, web2, api1, old] = [
    await server('shop-web-1', port),
    await server('shop-web-2', port),
    await server('api-1', port),
    await server('api-2-with-a-rather-long-name.eu-central.example.org', await freePort()),
  ]
  const backend = (name: string, reals: readonly { readonly id: string }[]) => {
    const healthCheck = { type: 'http', path: '/', interval: 1 }
    const body = { name, mode: 'http', healthCheck, reals: reals.map(({ id }) => ({ ripId: id })) }
    return daemon.data('POST', '/layer7proxy/backends', body)
  }
  const [shop, api] = [await backend('shop', [web1, web2]), await backend('api', [api1, old])]
  for (const [name, { id }] of [
    ['shop', shop],
    ['api', api],
  ] as const) {
    const ports = String(await freePort())
    const logs = { enabled: true }
    await daemon.data('POST', '/layer7proxy/frontends', {
      name,
      mode: 'http',
      ip: '127.0.0.1',
      ports,
      defaultBackendId: id,
      logs,
    })
  }
  await daemon.data('PUT', '/services/apply', { comment: 'shop and api' })
  await daemon.data('PUT', `/layer7proxy/backends/${shop.id}`, { balance: 'leastconn' })
  return daemon
}

let taken = 0
async function take(page: Page, name: string, look: string): Promise<void> {
  await page.waitForSelector('.loading', { state: 'detached' })
  await page.waitForTimeout(400)
  taken += 1
  await page.screenshot({ path: pathOf(FOLDER, `${name.replaceAll('/', '-')}.${look}.png`) })
}
const goTo = async (page: Page, hash: string) => {
  await page.evaluate(`location.hash = '#/${hash}'`)
  await page.waitForSelector('main h1')
}

t.test('one node', { skip }, async (test) => {
  mkdirSync(FOLDER, { recursive: true })
  const daemon = await site(test)
  const frontends = await daemon.data('GET', '/layer7proxy/frontends?name=shop')
  const [{ id: server }] = await daemon.data('GET', '/ipvsDirector/rips')
  for (const [look, options] of Object.entries(LOOKS)) {
    const { page } = await openedPage(test, daemon.port, options)
    await take(page, 'login', look)
    await logIn(page)
    await page.waitForSelector('.tiles')
    // Sparklines and health have something to show.
    await page.waitForTimeout(3_000)
    for (const name of [...PAGES.split(' '), `services/layer7/${frontends[0].id}`, `servers/${server}`]) {
      await goTo(page, name)
      await take(page, name.replace(/\/[0-9a-f-]{36}$/, '-one'), look)
    }
    await page.click('.pill')
    await take(page, 'pending', look)
    await page.keyboard.press('Escape')
    await goTo(page, `services/layer7/${frontends[0].id}`)
    await page.click('.page-head button:has-text("Edit")')
    await page.waitForSelector('.dialog .field')
    await page.fill('.dialog .field:has-text("Ports") input', '8443')
    await page.click('button:has-text("Lines of haproxy.cfg")')
    await page.waitForSelector('.beside pre')
    await take(page, 'lines', look)
    await page.click('.dialog-foot >> text=Cancel')
    await goTo(page, 'nowhere').catch(() => undefined)
    await take(page, 'nowhere', look)
    const [session] = await daemon.data('GET', '/localUsers/sessions')
    await daemon.data('DELETE', `/localUsers/sessions/${session.id}`).catch(() => undefined)
    await daemon.login()
    await page.close()
  }
  test.ok(taken > 40)
})

t.test('a cluster', { skip }, async (test) => {
  const daemons = await ClusterDaemons.begin(test)
  if (typeof daemons === 'string') {
    test.pass(`# SKIP ${daemons}`)
    return
  }
  const { first, third } = await threeNodes(daemons)
  const open: (readonly [string, Page])[] = []
  for (const [look, options] of Object.entries(LOOKS)) {
    const { page } = await openedPage(test, first.daemon.port, options)
    await logIn(page)
    await page.waitForSelector('.menu', { state: 'attached' })
    await goTo(page, 'cluster')
    await page.waitForSelector('[data-node=third]')
    await take(page, 'cluster-of-three', look)
    await page.click('button:has-text("Add a node")')
    await take(page, 'cluster-join-begin', look)
    await page.click('button:has-text("Create the token")')
    await page.waitForSelector('.steps textarea')
    await page.evaluate("document.querySelector('.steps textarea').value = 'fj1.' + 'x'.repeat(180)")
    await take(page, 'cluster-join-token', look)
    page.once('dialog', (question) => void question.accept())
    await page.keyboard.press('Escape')
    open.push([look, page])
  }
  await die(third)
  for (const [look, page] of open) {
    await page.waitForSelector('.trouble')
    await take(page, 'cluster-node-gone', look)
    await page.click('.trouble button')
    await take(page, 'cluster-remove', look)
    await page.keyboard.press('Escape')
  }
  await test.rejects(die(third).then(() => third.daemon.call('GET', '/ping')))
})
