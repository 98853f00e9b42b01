/** A site of a given size, and its admin page in a real browser. */
import type { BrowserContext, Page } from 'playwright-core'
import { launchBrowser, logIn, noBrowser } from '../test/fixtures/browser.ts'
import type { Daemon } from '../test/fixtures/daemon.ts'
import { startDaemon } from './daemon.ts'
import { whole } from './measure.ts'
import { scaled } from './scale.ts'

export const SERVERS_EACH = 5
/** Numbers of services, each with servers of its own: a usual site, and the largest that the page is made for. */
export const SITES = scaled([20, 1_000], [2, 30])

export const sizeOf = (services: number): string =>
  `${whole(services)} services, ${whole(services * SERVERS_EACH)} servers`

/** Configures the services as a site would: one document, one apply. */
export async function publish(daemon: Daemon, services: number, port: number): Promise<void> {
  const realServers: Record<string, object> = {}
  const l7Backends: Record<string, object> = {}
  const l7Frontends: Record<string, object> = {}
  for (let n = 0; n < services; n++) {
    const [name, place] = [`service ${n}`, `${n >> 8}.${n & 255}`]
    const reals = Array.from({ length: SERVERS_EACH }, (_, i) => ({ ripId: `server ${n}-${i}` }))
    for (const [i, { ripId }] of reals.entries()) realServers[ripId] = { ip: `127.1.${place}`, port: 8000 + i }
    l7Backends[name] = { mode: 'http', reals, healthCheck: { type: 'none' } }
    l7Frontends[name] = { mode: 'http', ip: `127.2.${place}`, ports: String(port), defaultBackendId: name }
  }
  const document = { version: 1, realServers, l7Backends, l7Frontends }
  const { planId } = await daemon.data('POST', '/config/plan', { document, takeOver: true })
  await daemon.data('PUT', `/config/plans/${planId}/apply`, {})
}

interface Opened {
  readonly daemon: Daemon
  readonly context: BrowserContext
  /** The page of a logged-in user. */
  readonly page: Page
  readonly url: string
}

export async function withPage(work: (opened: Opened) => Promise<void>): Promise<void> {
  if (noBrowser !== false) return console.log(`\nAdmin page: not measured, it ${noBrowser}`)
  const bench = await startDaemon()
  const browser = await launchBrowser()
  try {
    const { daemon } = bench
    const url = `https://127.0.0.1:${daemon.port}/`
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    await page.goto(url)
    await logIn(page)
    await page.waitForSelector('.tiles')
    await work({ daemon, context, page, url })
  } finally {
    await browser.close()
    await bench.stop()
  }
}
