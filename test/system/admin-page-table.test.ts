import type { Page } from 'playwright-core'
import t from 'tap'
import { axeOfLooks, logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'

/** A table that draws only the rows in sight. */

const SERVERS = 600
const LONG = 'a name that is longer than any column of this table is wide'
const addressOf = (n: number) => `127.1.${n >> 8}.${n & 255}`
const nameOf = (n: number) => (n % 50 === 7 ? `${LONG} ${n}` : `web ${n}`)

async function publish(daemon: Daemon): Promise<void> {
  const entries = Array.from({ length: SERVERS }, (_, n) => [nameOf(n), { ip: addressOf(n), port: 8000 }] as const)
  const document = { version: 1, realServers: Object.fromEntries(entries) }
  const { planId } = await daemon.data('POST', '/config/plan', { document, takeOver: true })
  await daemon.data('PUT', `/config/plans/${planId}/apply`, {})
}

interface Drawn {
  readonly at: number
  readonly name: string
  readonly address: string
  readonly id: string
  readonly top: number
}

/** The drawn rows, with their positions in the table. */
const drawnIn = (page: Page): Promise<readonly Drawn[]> =>
  page.evaluate(`(() => {
    const body = document.querySelector('main tbody')
    const begin = body.getBoundingClientRect().top
    return [...body.querySelectorAll('tr[aria-rowindex]')].map((row) => ({
      at: Number(row.ariaRowIndex) - 2,
      name: row.querySelector('a').textContent,
      address: row.querySelector('.code').textContent,
      id: row.querySelector('a').hash.slice('#/servers/'.length),
      top: row.getBoundingClientRect().top - begin,
    }))
  })()`)

/** Scrolls to this position, and waits until the rows there are drawn. */
const scrollTo = (page: Page, top: number): Promise<unknown> =>
  page.evaluate(`(async () => {
    scrollTo(0, ${top})
    for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame)
  })()`)

const isInSight = (page: Page): Promise<boolean> =>
  page.evaluate(`(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })()`)

const focused = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const { localName, textContent } = document.activeElement
    return [localName, textContent, document.activeElement.closest('tr')?.ariaRowIndex].join(' ').trim()
  })()`)

t.test('a long table', { skip: noBrowser, timeout: 300_000 }, async (whole) => {
  const daemon = await daemonFixture(whole)
  await publish(daemon)
  // The test injects axe into the page, which the page's own policy forbids.
  const { page, faults } = await openedPage(whole, daemon.port, { bypassCSP: true })
  await logIn(page)
  await page.waitForSelector('.tiles')
  await page.evaluate("location.hash = '#/servers'")
  await page.waitForSelector('main tbody tr:nth-child(20)')

  await whole.test('each row is one server, at its place, wherever somebody scrolls', async (test) => {
    const ids = new Map<string, string>()
    for (const { id, name } of await daemon.data('GET', '/ipvsDirector/rips')) ids.set(name, id)
    const inOrder = [...ids.keys()].toSorted(new Intl.Collator('en', { numeric: true }).compare)
    for (const top of [0, 200, 7_000, 7_400, 7_000, 23_500, 40_000, 320, 0]) {
      await scrollTo(page, top)
      const rows = await drawnIn(page)
      test.ok(rows.length > 20 && rows.length < 60, `${rows.length} rows at ${top}`)
      for (const { at, name, address, id, top: place } of rows) {
        const n = Number(name.split(' ').at(-1))
        test.same(
          { name, address, id, place },
          { name: inOrder[at], address: `${addressOf(n)}:8000`, id: ids.get(name), place: 40 * at },
        )
      }
    }
  })

  await whole.test('it says how many rows it has, and which these are', async (test) => {
    const table = page.getByRole('table', { name: 'Servers' })
    test.equal(await table.getAttribute('aria-rowcount'), String(SERVERS + 1), 'the header row included')
    test.equal(await table.getByRole('columnheader', { name: 'Health' }).count(), 1)
    const row = table.getByRole('row', { name: 'web 3 127.1.0.3:8000' })
    test.ok(Number(await row.getAttribute('aria-rowindex')) > 1)
    test.equal(await row.getByRole('cell').count(), 8)
    test.same(await axeOfLooks(page), [])
  })

  await whole.test('the focus stays where it was when its row scrolls away', async (test) => {
    await scrollTo(page, 0)
    const link = page.locator('main tbody tr a', { hasText: /^web 3$/ })
    await link.focus()
    const before = await focused(page)
    test.match(before, /^a web 3 \d+$/)
    for (const top of [8_000, 8_400, 20_000, 100_000]) {
      await scrollTo(page, top)
      test.equal(await focused(page), before, `at ${top}`)
    }
    // The focused element receives keys, and the next one is in the next row.
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Space')
    await page.waitForSelector('.bulk:has-text("1 selected")')
    await scrollTo(page, 12_000)
    await page.keyboard.press('Tab')
    await scrollTo(page, 16_000)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    const at = Number(before.split(' ').at(-1))
    test.match(await focused(page), new RegExp(`^a web .* ${at + 1}$`))
    test.ok(await isInSight(page))
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Shift+Tab')
    test.equal(await focused(page), before)
    test.ok(await page.locator('main tbody tr.ticked a', { hasText: /^web 3$/ }).count(), 'the row is still selected')
    await page.keyboard.press('Enter')
    await page.waitForSelector('h1:has-text("web 3")')
  })

  await whole.test('what could not be moved stays ticked', async (test) => {
    await page.evaluate("location.hash = '#/servers?q=web 11'")
    await page.waitForSelector('main table:not(.long) tbody tr:nth-child(11)')
    const [{ id: refused }] = await daemon.data('GET', '/ipvsDirector/rips?name=web%20111')
    await page.route(`**/${refused}/drain`, (route) =>
      route.fulfill({ status: 409, json: { status: 'error', code: 'IN_USE', message: 'not this one' } }),
    )
    await page.check('main thead input')
    await page.click('.bulk button:has-text("Drain")')
    await page.click('.toast.bad:has-text("not this one") [aria-label=Close]')
    const left = await page.locator('main tr.ticked a').allTextContents()
    test.equal(left[0], 'web 111')
    test.same((await daemon.data('GET', '/services/pending')).count, 11 - left.length)
    await daemon.data('DELETE', '/services/pending')
  })

  await whole.test('a form that names some of many has them at hand when they are asked for', async (test) => {
    const servers = await daemon.data('GET', '/ipvsDirector/rips?limit=1000')
    const idOf = (name: string) => servers.find((one: { readonly name: string }) => one.name === name).id
    const reals = ['web 1', 'web 2'].map((name) => ({ ripId: idOf(name) }))
    const { id } = await daemon.data('POST', '/layer7proxy/backends', { name: 'shop', mode: 'http', reals })
    await page.evaluate("location.hash = '#/services'")
    await page.click('.chip:has-text("shop")')
    const choice = page.locator('.dialog .entry select').first()
    await choice.waitFor()
    test.same(await choice.locator('option').allTextContents(), ['web 1'])
    await choice.focus()
    await choice.locator(`option:text-is("${nameOf(SERVERS - 1)}")`).waitFor({ state: 'attached' })
    test.equal(await choice.locator('option').count(), SERVERS)
    await choice.selectOption({ label: 'web 3' })
    await page.click('.dialog-foot .main')
    await page.waitForSelector('.dialog', { state: 'detached' })
    const changed = await daemon.data('GET', `/layer7proxy/backends/${id}`)
    test.same(
      changed.reals.map(({ ripId }: { readonly ripId: string }) => ripId),
      [idOf('web 3'), idOf('web 2')],
    )
  })

  await whole.test('what is long is cut at the end of its column', async (test) => {
    await page.evaluate("location.hash = '#/servers'")
    await page.waitForSelector('main .long')
    await scrollTo(page, 0)
    const cells = await page.evaluate(`[...document.querySelectorAll('main .long td:nth-child(2)')].map((cell) =>
      [cell.textContent.length > 12, getComputedStyle(cell).overflowX, cell.scrollWidth > cell.clientWidth].join())`)
    test.same(new Set(cells as string[]), new Set(['true,clip,true', 'false,visible,false']))
  })
  whole.same(faults, [])
})
