/**
 * The admin page in a real browser: how soon somebody who is logged in sees the overview, how a list of thousands
 * scrolls, and what an open page costs the daemon.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { launchBrowser, logIn, noBrowser } from '../test/fixtures/browser.ts'
import type { Daemon } from '../test/fixtures/daemon.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { cpuOf, startDaemon } from './daemon.ts'
import { median, percentile, spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const SERVERS_EACH = 5
/** Services, each with servers of its own: a usual site, and the largest that the page is made for. */
const SITES = scaled([20, 1_000], [2, 30])
const VISITS = scaled(15, 2)
const SCROLLS = scaled(5, 1)
/** Steps of a wheel, one in each frame. */
const STEPS = scaled(400, 20)
const STEP_PX = 400
const ROUNDS = scaled(3, 1)
const OPEN_S = scaled(60, 1)
const FRAME_MS_MAX = 50

/** As a site would: one document, one apply. */
async function publish(daemon: Daemon, services: number, port: number): Promise<void> {
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

/** Runs before the page does: when its overview was first drawn with what is there, from the start of the visit. */
const WATCH_OVERVIEW = `(() => {
  const look = () => {
    if (document.querySelector('.tiles') === null || document.querySelector('.columns tbody tr') === null) return
    watching.disconnect()
    requestAnimationFrame(() => setTimeout(() => { document.documentElement.dataset.drawn = performance.now() }))
  }
  const watching = new MutationObserver(look)
  watching.observe(document, { childList: true, subtree: true })
})()`

/** Processor time of the thread that a page runs, lays out and paints in, ms: load of the machine hardly changes it. */
async function threadTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
}

interface Visit {
  readonly drawn_ms: number
  readonly thread_ms: number
  /** Of the daemon. */
  readonly daemon_ms: number
}

async function visit(context: BrowserContext, url: string, pid: number): Promise<Visit> {
  const page = await context.newPage()
  const spent = await threadTime(page)
  const before = { thread_ms: await spent(), daemon_s: cpuOf(pid) }
  await page.addInitScript(WATCH_OVERVIEW)
  await page.goto(url)
  await page.waitForSelector('html[data-drawn]')
  const drawn_ms = Number(await page.getAttribute('html', 'data-drawn'))
  const thread_ms = (await spent()) - before.thread_ms
  const daemon_ms = 1_000 * (cpuOf(pid) - before.daemon_s)
  await page.close()
  return { drawn_ms, thread_ms, daemon_ms }
}

interface Scrolled {
  /** Between one frame and the next. */
  readonly frames_ms: readonly number[]
  /** Of tasks that took more than 50 ms. */
  readonly tasks_ms: readonly number[]
  /** Processor time of the page's thread for one frame. */
  readonly thread_ms: number
}

/** One step in each frame, for as long as there are frames. */
const SCROLL = `(async ([steps, step_px]) => {
  const tasks_ms = []
  const tasks = new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) tasks_ms.push(duration) })
  tasks.observe({ entryTypes: ['longtask'] })
  const frame = () => new Promise(requestAnimationFrame)
  scrollTo(0, 0)
  for (let n = 0; n < 30; n++) await frame()
  tasks_ms.length = 0
  const frames_ms = []
  let before_ms = await frame()
  for (let n = 0; n < steps; n++) {
    scrollBy(0, step_px)
    const now_ms = await frame()
    frames_ms.push(now_ms - before_ms)
    before_ms = now_ms
  }
  await new Promise((resolve) => setTimeout(resolve, 100))
  for (const { duration } of tasks.takeRecords()) tasks_ms.push(duration)
  tasks.disconnect()
  return { frames_ms, tasks_ms }
})([${STEPS}, ${STEP_PX}])`

/** As high as the list, and nothing that has to be drawn anew: what the machine gives a browser. */
const TALL = 'data:text/html,<body style="height:200000px">'

async function scrolled(page: Page): Promise<Scrolled> {
  await page.bringToFront()
  const spent = await threadTime(page)
  const before_ms = await spent()
  const told = await page.evaluate<Omit<Scrolled, 'thread_ms'>>(SCROLL)
  return { ...told, thread_ms: ((await spent()) - before_ms) / STEPS }
}

async function scrolling(page: Page, url: string): Promise<{ readonly list: Scrolled[]; readonly bare: Scrolled[] }> {
  const bare = await page.context().newPage()
  await bare.goto(TALL)
  const told: { list: Scrolled[]; bare: Scrolled[] } = { list: [], bare: [] }
  await page.goto(url)
  await page.waitForSelector('main tbody tr:nth-child(20)')
  for (let round = 0; round < SCROLLS; round++) {
    told.bare.push(await scrolled(bare))
    told.list.push(await scrolled(page))
  }
  await bare.close()
  await page.goto('about:blank')
  return told
}

const scrollRow = (what: string, rounds: readonly Scrolled[]): readonly string[] => {
  const frames = rounds.flatMap(({ frames_ms }) => frames_ms)
  const long = rounds.map(({ frames_ms }) => frames_ms.filter((one) => one > FRAME_MS_MAX).length)
  const tasks = rounds.flatMap(({ tasks_ms }) => tasks_ms)
  return [
    what,
    whole(frames.length),
    median(frames).toFixed(1),
    percentile(frames, 0.99).toFixed(1),
    spread(rounds.map(({ frames_ms }) => Math.max(...frames_ms))),
    spread(long, 0),
    spread(rounds.map(({ thread_ms }) => thread_ms)),
    `${tasks.length}${tasks.length === 0 ? '' : `, ${Math.max(...tasks).toFixed(0)} ms`}`,
  ]
}

/** Processor time of the daemon a second, in percent of one core. */
async function shareOf(pid: number): Promise<number> {
  const [began_ms, began_s] = [performance.now(), cpuOf(pid)]
  await wait(OPEN_S * 1_000)
  return (100 * (cpuOf(pid) - began_s)) / ((performance.now() - began_ms) / 1_000)
}

async function openCosts(context: BrowserContext, pid: number, url: string): Promise<readonly string[]> {
  const [alone, open]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await shareOf(pid))
    const page = await context.newPage()
    await page.goto(url)
    await page.waitForSelector('.columns tbody tr')
    await page.waitForSelector('.live:has-text("live")')
    // What it asks for when it is opened is no matter of how long it stays.
    await wait(scaled(5_000, 0))
    open.push(await shareOf(pid))
    await page.close()
  }
  const more = open.map((value, round) => value - (alone[round] ?? value))
  return [spread(alone, 2), spread(open, 2), spread(more, 2)]
}

export async function run(): Promise<void> {
  if (noBrowser !== false) return console.log(`\nAdmin page: not measured, it ${noBrowser}`)
  const bench = await startDaemon()
  const browser = await launchBrowser()
  try {
    const { daemon } = bench
    const port = await freePort()
    const url = `https://127.0.0.1:${daemon.port}/`
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    await page.goto(url)
    await logIn(page)
    await page.waitForSelector('.tiles')
    const visits: (readonly string[])[] = []
    for (const services of SITES) {
      await publish(daemon, services, port)
      const size = `${whole(services)} services, ${whole(services * SERVERS_EACH)} servers`
      await page.goto('about:blank')
      const all: Visit[] = []
      for (let n = 0; n < VISITS; n++) all.push(await visit(context, url, daemon.pid))
      const of = (field: keyof Visit) =>
        spread(
          all.map((one) => one[field]),
          0,
        )
      visits.push([size, of('drawn_ms'), of('thread_ms'), of('daemon_ms')])
    }
    const all = `${whole((SITES.at(-1) ?? 0) * SERVERS_EACH)} servers`
    table(
      'Admin page: from the start of a visit to the overview with its services',
      ['size', 'ms', 'processor time of the page', 'of the daemon'],
      visits,
    )
    const { list, bare } = await scrolling(page, `${url}#/servers`)
    const head = [
      'what scrolls',
      'frames',
      'median ms',
      'p99 ms',
      'longest ms',
      `over ${FRAME_MS_MAX} ms a run`,
      'processor ms a frame',
      'long tasks',
    ]
    table(`Admin page: ${STEPS} steps of ${STEP_PX} px, one a frame`, head, [
      scrollRow('an empty page', bare),
      scrollRow(all, list),
    ])
    const shares = ['what there is', '% of one core without a page', 'with one open', 'more']
    const costs = await openCosts(context, daemon.pid, url)
    table(`Admin page: processor time of the daemon, ${OPEN_S} s each`, shares, [[all, ...costs]])
  } finally {
    await browser.close()
    await bench.stop()
  }
}

if (import.meta.main) await run()
