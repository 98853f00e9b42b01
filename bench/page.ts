/**
 * The admin page in a real browser: how soon a logged-in user sees the overview, and how a list of thousands scrolls.
 */
import type { BrowserContext, Page } from 'playwright-core'
import { freePort } from '../test/fixtures/traffic.ts'
import { cpuOf } from './daemon.ts'
import { median, percentile, spread, table, whole } from './measure.ts'
import { publish, SERVERS_EACH, SITES, sizeOf, withPage } from './page-site.ts'
import { scaled } from './scale.ts'

const VISITS = scaled(15, 2)
const SCROLLS = scaled(5, 1)
/** Number of wheel steps, one per frame. */
const STEPS = scaled(400, 20)
const STEP_PX = 400
const FRAME_MS_MAX = 50

/**
 * Runs before the page's own scripts, and reports when the overview was first drawn with its data, counted from the
 * start of the visit. Waiting for a selector would run twenty milliseconds of scripts in the page while it starts.
 */
const WATCH_OVERVIEW = `(() => {
  const look = () => {
    if (document.querySelector('.tiles') === null || document.querySelector('.columns tbody tr') === null) return
    watching.disconnect()
    requestAnimationFrame(() => setTimeout(() => console.debug('drawn', performance.now())))
  }
  const watching = new MutationObserver(look)
  watching.observe(document, { childList: true, subtree: true })
})()`

/**
 * Returns a function for the processor time, in ms, of the thread in which a page runs, lays out and paints: other load
 * of the machine hardly changes it.
 */
async function threadTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
}

/**
 * Returns a function for the processor time, in ms, of all browser processes: on two cores, the total decides how late
 * frames are.
 */
async function browserTime(context: BrowserContext): Promise<() => Promise<number>> {
  const session = await context.browser()?.newBrowserCDPSession()
  return async () => {
    const { processInfo = [] } = (await session?.send('SystemInfo.getProcessInfo')) ?? {}
    return 1_000 * processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0)
  }
}

interface Visit {
  readonly drawn_ms: number
  readonly thread_ms: number
  /** Processor time of the daemon. */
  readonly daemon_ms: number
}

async function visit(context: BrowserContext, url: string, pid: number): Promise<Visit> {
  const page = await context.newPage()
  const spent = await threadTime(page)
  const before = { thread_ms: await spent(), daemon_s: cpuOf(pid) }
  await page.addInitScript(WATCH_OVERVIEW)
  const drawn = page.waitForEvent('console', (message) => message.text().startsWith('drawn '))
  await page.goto(url)
  const drawn_ms = Number((await drawn).text().slice('drawn '.length))
  const thread_ms = (await spent()) - before.thread_ms
  const daemon_ms = 1_000 * (cpuOf(pid) - before.daemon_s)
  await page.close()
  return { drawn_ms, thread_ms, daemon_ms }
}

interface Scrolled {
  /** Time between two frames. */
  readonly frames_ms: readonly number[]
  /** Lengths of tasks that took more than 50 ms. */
  readonly tasks_ms: readonly number[]
  /** Processor time of the page's thread per frame. */
  readonly thread_ms: number
  /** Processor time of the whole browser per frame. */
  readonly browser_ms: number
}

/** Scrolls one step per frame, and records the frames and long tasks. */
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

/** A page as high as the list with nothing to redraw: the limit of this machine and browser. */
const TALL = 'data:text/html,<body style="height:200000px">'

async function scrolled(page: Page): Promise<Scrolled> {
  await page.bringToFront()
  const [ofThread, ofBrowser] = [await threadTime(page), await browserTime(page.context())]
  const [thread, browser] = [await ofThread(), await ofBrowser()]
  const told = await page.evaluate<Omit<Scrolled, 'thread_ms' | 'browser_ms'>>(SCROLL)
  const each = { thread_ms: ((await ofThread()) - thread) / STEPS, browser_ms: ((await ofBrowser()) - browser) / STEPS }
  return { ...told, ...each }
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
    spread(rounds.map(({ browser_ms }) => browser_ms)),
    `${tasks.length}${tasks.length === 0 ? '' : `, ${Math.max(...tasks).toFixed(0)} ms`}`,
  ]
}

export const run = (): Promise<void> =>
  withPage(async ({ daemon, context, page, url }) => {
    const port = await freePort()
    const visits: (readonly string[])[] = []
    for (const services of SITES) {
      await publish(daemon, services, port)
      await page.goto('about:blank')
      const all: Visit[] = []
      for (let n = 0; n < VISITS; n++) all.push(await visit(context, url, daemon.pid))
      const of = (field: keyof Visit) =>
        spread(
          all.map((one) => one[field]),
          0,
        )
      visits.push([sizeOf(services), of('drawn_ms'), of('thread_ms'), of('daemon_ms')])
    }
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
      'of the whole browser',
      'long tasks',
    ]
    table(`Admin page: ${STEPS} steps of ${STEP_PX} px, one a frame`, head, [
      scrollRow('an empty page', bare),
      scrollRow(`${whole((SITES.at(-1) ?? 0) * SERVERS_EACH)} servers`, list),
    ])
  })

if (import.meta.main) await run()
