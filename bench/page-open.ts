/** What an open admin page costs the daemon, by what is shown of how large a site. */
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../test/fixtures/traffic.ts'
import { cpuOf, mainThreadOf_ms } from './daemon.ts'
import { spread, table } from './measure.ts'
import { publish, SITES, sizeOf, withPage } from './page-site.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(3, 1)
const OPEN_S = scaled(30, 1)
/** What is there when a page is. */
const PAGES = { overview: '.columns tbody tr', servers: 'main tbody tr:nth-child(9)' } as const
/** What it asks for when it is opened is no matter of how long it stays; memory of that is collected for some while. */
const SETTLE_MS = scaled(30_000, 0)

/** Processor time a second, in percent of one core: of the thread that answers, and of the daemon. */
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

/** How much more each was than what stands at the same place. */
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
