import t from 'tap'
import { axeOfLooks, logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { beginningsOf, begunAnew, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { allVote, die, removes, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** The page of two nodes with a witness, and of a node that the others have removed, against real daemons. */

const card = (name: string) => `[data-node="${name}"]`

t.test('a witness, and a node that was removed', { skip: noBrowser }, async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = await Promise.all([daemons.start(), daemons.start()])
  const witness = daemons.witness()
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  const { page, faults } = await openedPage(t, left.daemon.port, { bypassCSP: true })
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate("location.hash = '#/cluster'")

  await t.test('the witness is admitted on the page, and has its own card', async (t) => {
    await page.click('button:has-text("Add a node")')
    await page.click('.choice button:has-text("A witness")')
    await page.click('button:has-text("Create the token")')
    await page.waitForSelector('.steps textarea')
    t.match(await page.innerText('.steps'), /cat > \/var\/lib\/fulcrum\/join-token/)
    witness.start()
    await witness.says(/waits for a token/)
    await witness.hand(await page.inputValue('.steps textarea'))
    await page.waitForSelector('.steps li:nth-child(4).done')
    await page.click('button:has-text("Done")')
    const { name } = (await seenBy(left)).witness
    const shown = await page.innerText(card(name))
    t.match(shown, /A witness votes, and has no configuration and no traffic/)
    t.match(shown, /online[^]*Address[^]*Version[^]*Joined/)
    t.notMatch(shown, /maintenance|no vote at the moment/i)
    t.match(await page.innerText('.tiles'), /3 \/ 3[^]*with the witness/)
    t.same(await axeOfLooks(page), [], 'axe with a witness')
    await page.click(`${card(name)} button:has-text("Remove")`)
    t.match(await page.innerText('.dialog-body'), /It no longer votes, forgets the cluster, and waits for a new token/)
    await page.click('.dialog-foot button:has-text("Cancel")')
  })

  await t.test('a node that was removed says so, and becomes a single node', async (t) => {
    await die(right)
    await page.waitForSelector('.trouble:has-text("Not answering: right")')
    t.ok(await removes(left, right))
    await right.daemon.start()
    const gone = await openedPage(t, right.daemon.port, { bypassCSP: true })
    await logIn(gone.page)
    await gone.page.waitForSelector('.menu')
    await gone.page.evaluate("location.hash = '#/cluster'")
    await gone.page.waitForSelector('.trouble:has-text("This node was removed from the cluster")')
    t.match(await gone.page.innerText('.trouble'), /keeps serving the last configuration[^]*Make it a single node/)
    t.same(await axeOfLooks(gone.page), [], 'axe of a removed node')
    await gone.page.evaluate("location.hash = '#/node'")
    await gone.page.waitForSelector('main .trouble:has-text("This node was removed from the cluster")')
    t.same(await axeOfLooks(gone.page), [], 'its own page says so as well')
    // An entry that cannot be carried out is not created here: the page receives the report of one instead.
    const why = 'entry 7 of the cluster’s log cannot be carried out here'
    await gone.page.route('**/api/v1/cluster', async (route) => {
      const response = await route.fetch()
      const { data, ...more } = await response.json()
      await route.fulfill({ response, json: { ...more, data: { ...data, removedAt: null, halted: why } } })
    })
    await gone.page.waitForSelector('main .trouble:has-text("This node no longer follows the cluster")')
    t.match(await gone.page.innerText('.trouble'), new RegExp(`keeps serving the last configuration[^]*${why}`))
    await gone.page.click('.trouble button:has-text("Make it a single node")')
    await gone.page.click('.dialog-foot button:has-text("Cancel")')
    await gone.page.unrouteAll({ behavior: 'wait' })
    await gone.page.evaluate("location.hash = '#/cluster'")
    await gone.page.waitForSelector('.trouble:has-text("This node was removed from the cluster")')
    const before = beginningsOf(right)
    await gone.page.click('.trouble button:has-text("Make it a single node")')
    await gone.page.fill('.dialog-body input[type=text]', 'right')
    const leave = gone.page.locator('.dialog-foot button.danger')
    await until(
      'a single node',
      async () => {
        await leave.click({ timeout: 2_000 }).catch(() => undefined)
        return gone.page.locator('.dialog').count()
      },
      (count) => count === 0,
    )
    await begunAnew(right, before)
    await gone.page.waitForSelector('text=This node is not in a cluster.')
    const again = gone.page.waitForResponse((response) => response.url().endsWith('/api/v1/cluster') && response.ok())
    t.equal((await (await again).json()).data, null, 'the user who made it a single node stays logged in')
    t.same(gone.faults, [])
  })
  t.same(faults, [])
  return undefined
})
