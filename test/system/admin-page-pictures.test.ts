import { mkdirSync } from 'node:fs'
import { Agent, createServer, get } from 'node:http'
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
 * Pictures of every page and designed state in each look, for review by a person:
 * `FULCRUM_TEST_PICTURES=FOLDER npm test -- --timeout=900 test/system/admin-page-pictures.test.ts`, and with the fonts
 * of the machine if FONTCONFIG_FILE is /etc/fonts/fonts.conf. Those of docs/images are `page-*.png`; its
 * `page-cluster.png` and `page-lines.png` are `cluster-node-gone.light.png` and `lines.light.png`.
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

/** A small site: two services, one with a server that is down, and a pending change. */
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
    // Sparklines and health have data to show.
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

/** How long the site of the documents has had traffic when its pictures are taken. */
const TRAFFIC_MS = 170_000
const WAVE_MS = 12_000

/** A port that answers requests after some milliseconds. */
async function slowOrigin(test: Test): Promise<number> {
  const origin = createServer((_, answer) => void setTimeout(() => answer.end('hello'), 10 + Math.random() * 40))
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  test.teardown(() => origin.close())
  return (origin.address() as AddressInfo).port
}

/** Requests per second in waves between the two rates, until the test ends. */
function traffic(test: Test, port: number, least: number, most: number): void {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  let due = 0
  const STEP_MS = 100
  const timer = setInterval(() => {
    const wave = (1 + Math.sin((Date.now() / WAVE_MS) * 2 * Math.PI)) / 2
    due += ((least + (most - least) * wave) * STEP_MS) / 1_000
    for (; due >= 1; due -= 1)
      get({ port, host: '127.0.0.1', agent, path: '/' }, (answer) => void answer.resume()).on('error', () => undefined)
  }, STEP_MS)
  test.teardown(() => {
    clearInterval(timer)
    agent.destroy()
  })
}

/** The demonstration with three services more, one server that is down and one that is drained. */
async function busySite(test: Test): Promise<{ readonly daemon: Daemon; readonly shop: string }> {
  const daemon = await daemonFixture(test, ['--demo'])
  const id = async (path: string, body: object) => String((await daemon.data('POST', path, body)).id)
  const [one, two, none] = [await slowOrigin(test), await slowOrigin(test), await freePort()]
  const made = { shop: '', web3: '' }
  for (const [name, ports, least, most] of [
    ['shop', [one, two, one], 5, 50],
    ['api', [two, none], 3, 15],
    ['blog', [one], 1, 6],
  ] as const) {
    const reals = []
    for (const [at, port] of ports.entries()) {
      const server = name === 'shop' ? `shop-web-${at + 1}` : `${name}-${at + 1}`
      const ripId = await id('/ipvsDirector/rips', { name: server, ip: '127.0.0.1', port })
      if (server === 'shop-web-3') made.web3 = ripId
      reals.push({ ripId })
    }
    const healthCheck = { type: 'http', path: '/', interval: 1 }
    const defaultBackendId = await id('/layer7proxy/backends', { name, mode: 'http', healthCheck, reals })
    const port = await freePort()
    const logs = { enabled: true }
    const frontend = { name, mode: 'http', ip: '127.0.0.1', ports: String(port), defaultBackendId, logs }
    const frontendId = await id('/layer7proxy/frontends', frontend)
    if (name === 'shop') made.shop = frontendId
    traffic(test, port, least, most)
  }
  await daemon.data('PUT', '/services/apply', { comment: 'shop, api and blog' })
  await daemon.data('PUT', `/ipvsDirector/rips/${made.web3}/drain`)
  await daemon.data('PUT', '/services/apply', { comment: 'maintenance of web-3' })
  await daemon.data('PUT', `/layer7proxy/frontends/${made.shop}`, { timeoutClient: 45 })
  return { daemon, shop: made.shop }
}

t.test('the pictures of the documents', { skip }, async (test) => {
  mkdirSync(FOLDER, { recursive: true })
  const { daemon, shop } = await busySite(test)
  const open = async (options: BrowserContextOptions) => {
    const { page } = await openedPage(test, daemon.port, { viewport: { width: 1280, height: 760 }, ...options })
    await logIn(page)
    await page.waitForSelector('.tiles')
    return page
  }
  const [page, dark] = [await open({}), await open({ colorScheme: 'dark' })]
  await page.waitForTimeout(TRAFFIC_MS)
  const shoot = async (of: Page, name: string) => {
    await of.waitForSelector('.loading', { state: 'detached' })
    await of.waitForTimeout(1_500)
    await of.screenshot({ path: pathOf(FOLDER, `page-${name}.png`) })
  }
  await shoot(page, 'overview')
  await goTo(page, `services/layer7/${shop}`)
  await page.click('button:has-text("10 min")')
  await shoot(page, 'service')
  await page.click('.pill')
  await shoot(page, 'preview')
  await page.keyboard.press('Escape')
  await page.click('.page-head button:has-text("Edit")')
  await page.waitForSelector('.dialog .field')
  await shoot(page, 'edit')
  await page.click('.dialog-foot >> text=Cancel')
  await goTo(page, 'servers')
  await shoot(page, 'servers')
  await page.keyboard.press('Control+k')
  await page.waitForSelector('dialog.search')
  await page.keyboard.type('shop')
  await shoot(page, 'search')
  await page.keyboard.press('Escape')
  await goTo(page, 'node')
  await shoot(page, 'node')
  await goTo(dark, 'traffic')
  await dark.selectOption('.page-head select', { label: 'shop' })
  await dark.click('button:has-text("10 min")')
  await shoot(dark, 'dark')
})
