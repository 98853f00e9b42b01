/** Cost of an open admin page for the daemon, by page and by size of the site. */
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../test/fixtures/traffic.ts'
import { cpuOf, mainThreadOf_ms } from './daemon.ts'
import { spread, table } from './measure.ts'
import { publish, SITES, sizeOf, withPage } from './page-site.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(3, 1)
const OPEN_S = scaled(30, 1)
/** Selectors that match once a page is complete. */
const PAGES = { overview: '.columns tbody tr', servers: 'main tbody tr:nth-child(9)' } as const
/**
 * The requests of opening a page do not count as cost of an open one; their memory is collected for a while afterwards.
 */
const SETTLE_MS = scaled(30_000, 0)

/** Processor time per second, in percent of one core: of the thread that answers, and of the whole daemon. */
interface Share {
  readonly answering: number
  readonly all: number
}

async function shareOf(pid: number): Promise<Share> {
  const [began_ms, answering_ms, all_s] = [performance.now(), mainThreadOf_ms(pid), cpuOf(pid)]
  await wait(OPEN_S * 1_000)
  const percent_ms = (performance.now() - began_ms) / 100
  return {
    answering: (mainThreadOf_ms(pid) - answering_ms) / percent_ms,
    all: (1_000 * (cpuOf(pid) - all_s)) / percent_ms,
  }
}

/** Returns by how much each share exceeds the share of the same round without a page. */
const more = (shares: readonly Share[], alone: readonly Share[], of: keyof Share): readonly number[] =>
  shares.map((share, round) => share[of] - (alone[round]?.[of] ?? 0))

export const run = (): Promise<void> =>
  withPage(async ({ daemon, context, page: other, url }) => {
    const rows: (readonly string[])[] = []
    await other.goto('about:blank')
    for (const services of SITES) {
      await publish(daemon, services, await freePort())
      const alone: Share[] = []
      const open: Record<keyof typeof PAGES, Share[]> = { overview: [], servers: [] }
      for (let round = 0; round < ROUNDS; round++) {
        await wait(SETTLE_MS)
        alone.push(await shareOf(daemon.pid))
        for (const [name, there] of Object.entries(PAGES)) {
          const page = await context.newPage()
          await page.goto(`${url}#/${name}`)
          await page.waitForSelector(there)
          await page.waitForSelector('.live:has-text("live")')
          await wait(SETTLE_MS)
          open[name as keyof typeof PAGES].push(await shareOf(daemon.pid))
          await page.close()
        }
      }
      const quiet = alone.map(({ answering }) => answering)
      for (const [name, shares] of Object.entries(open)) {
        const [answering, all] = [more(shares, alone, 'answering'), more(shares, alone, 'all')]
        rows.push([sizeOf(services), name, spread(quiet, 2), spread(answering, 2), spread(all, 2)])
      }
    }
    table(
      `Admin page: processor time of the daemon, ${ROUNDS} times ${OPEN_S} s each, in % of one core`,
      ['size', 'open page', 'thread that answers, without a page', 'more with one open', 'all threads, more'],
      rows,
    )
  })

if (import.meta.main) await run()
