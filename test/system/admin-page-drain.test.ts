import t from 'tap'
import { logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { freePort } from '../fixtures/traffic.ts'
import { conversation, echoOrigin } from './haproxy-traffic.ts'

/** Maintenance of a server on its page: what the drain waits for, and how it ends. */

t.test('a drain is shown on the page of its server, and on no other', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const port = await freePort()
  const make = async (path: string, body: object) => (await daemon.data('POST', path, body)).id
  const server = async (name: string) =>
    await make('/ipvsDirector/rips', { name, ip: '127.0.0.1', port: await echoOrigin(test, name) })
  // One name is part of the other.
  const [web, web2] = [await server('web'), await server('web-2')]
  const backend = { name: 'be', mode: 'tcp', reals: [{ ripId: web2 }], healthCheck: { type: 'none' } }
  const defaultBackendId = await make('/layer7proxy/backends', backend)
  await make('/layer7proxy/frontends', { name: 'fe', mode: 'tcp', ip: '127.0.0.1', ports: `${port}`, defaultBackendId })
  await daemon.data('PUT', '/services/apply')
  const client = await conversation(test, port)
  test.equal(await client.say('hello'), 'web-2 hello')
  await daemon.data('PUT', `/layer7proxy/backends/${defaultBackendId}`, { reals: [{ ripId: web2 }, { ripId: web }] })

  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.waitForSelector('.tiles')
  await page.evaluate(`location.hash = '#/servers/${web2}'`)
  await page.click('main >> text=Maintenance: drain')
  await page.waitForSelector('progress[aria-label*="web-2"]')
  await page.waitForSelector('.card:has(progress) >> text=waiting for the apply')
  await page.evaluate(`location.hash = '#/servers/${web}'`)
  await page.waitForSelector('h1 bdi:text-is("web")')
  await page.waitForSelector('main >> text=Maintenance: drain')
  // The page requests jobs when it is opened, and again later.
  await page.waitForResponse((response) => response.url().endsWith('/api/v1/jobs'))
  await page.waitForResponse((response) => response.url().endsWith('/api/v1/jobs'))
  test.equal(await page.locator('progress').count(), 0, 'the drain of the other server is not shown here')

  await page.evaluate(`location.hash = '#/servers/${web2}'`)
  await page.click('.pill.waiting')
  await page.selectOption('.dialog-foot select', '0')
  await page.click('.dialog-foot >> text=Apply all')
  await page.waitForSelector('.dialog', { state: 'detached' })
  await page.waitForSelector('.card:has(progress) >> text=1 connection is left')
  client.end()
  await page.waitForSelector('.toast.good:has-text("web-2")')
  await page.waitForSelector('.page-head .badge:text-is("halted")')
  test.equal((await daemon.data('GET', `/ipvsDirector/rips/${web2}`)).state, 'halted')
  test.equal(await page.locator('progress').count(), 0)
  await page.click('.page-head >> text=Bring online')
  await page.waitForSelector('.page-head .badge:text-is("online")')
  test.same(faults, [])
})
