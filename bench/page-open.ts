/** What an open admin page costs the daemon, by what is shown of how large a site. */
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../test/fixtures/traffic.ts'
import { cpuOf } from './daemon.ts'
import { spread, table } from './measure.ts'
import { publish, SITES, sizeOf, withPage } from './page-site.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(3, 1)
const OPEN_S = scaled(15, 1)
/** What is there when a page is. */
const PAGES = { overview: '.columns tbody tr', servers: 'main tbody tr:nth-child(9)' } as const
/** What it asks for when it is opened is no matter of how long it stays. */
const SETTLE_MS = scaled(3_000, 0)

/** Processor time of the daemon a second, in percent of one core. */
async function shareOf(pid: number): Promise<number> {
  const [began_ms, began_s] = [performance.now(), cpuOf(pid)]
  await wait(OPEN_S * 1_000)
  return (100 * (cpuOf(pid) - began_s)) / ((performance.now() - began_ms) / 1_000)
}

export const run = (): Promise<void> =>
  withPage(async ({ daemon, context, page: other, url }) => {
    const rows: (readonly string[])[] = []
    await other.goto('about:blank')
    for (const services of SITES) {
      await publish(daemon, services, await freePort())
      await wait(SETTLE_MS)
      const alone: number[] = []
      const open: Record<keyof typeof PAGES, number[]> = { overview: [], servers: [] }
      for (let round = 0; round < ROUNDS; round++) {
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
      for (const [name, shares] of Object.entries(open)) {
        const more = shares.map((value, round) => value - (alone[round] ?? value))
        rows.push([sizeOf(services), name, spread(alone, 2), spread(shares, 2), spread(more, 2)])
      }
    }
    table(
      `Admin page: processor time of the daemon, ${ROUNDS} times ${OPEN_S} s each`,
      ['size', 'open page', '% of one core without a page', 'with one open', 'more'],
      rows,
    )
  })

if (import.meta.main) await run()
