import type { Page } from 'playwright-core'
import t from 'tap'
import { axeOf, axeOfLooks, logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { begunAnew, ClusterDaemons, join } from '../fixtures/cluster-daemons.ts'
import { allVote, die, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** The page of a cluster, against real daemons with a real etcd each. */

async function clusterPage(page: Page): Promise<void> {
  await page.waitForSelector('.menu')
  await page.evaluate("location.hash = '#/cluster'")
}
const card = (name: string) => `[data-node="${name}"]`

t.test('three nodes, managed on the page alone', { skip: noBrowser }, async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') {
    t.pass(`# SKIP ${daemons}`)
    return
  }
  const [first, second, third] = await Promise.all([daemons.start(), daemons.start(), daemons.start()])
  // The test injects axe into the page, which the page's own policy forbids.
  const here = await openedPage(t, first.daemon.port, { bypassCSP: true })
  const there = await openedPage(t, second.daemon.port, { bypassCSP: true })
  const { page } = here
  await logIn(page)
  await clusterPage(page)

  await t.test('the first node forms the cluster', async (t) => {
    await page.waitForSelector('text=This node is not in a cluster.')
    await page.fill('input[name=cluster-name]', 'site')
    await page.fill('form:has(button:has-text("Create")) input[name=cluster-address]', first.address)
    await page.fill('form:has(button:has-text("Create")) input[name=cluster-nodeName]', 'left')
    await page.click('button:has-text("Create")')
    await page.waitForSelector(`${card('left')} .badge:has-text("leader")`)
    t.equal(await page.innerText('h1'), 'site')
    await begunAnew(first)
  })

  await t.test('another node joins with the pasted token, and both show the progress', async (t) => {
    await page.click('button:has-text("Add a node")')
    await page.click('button:has-text("Create the token")')
    const token = await page.inputValue('.steps textarea')
    t.match(token, /^fj1\./)
    t.same(await axeOfLooks(page), [], 'axe of the page with the token')
    const joining = there.page
    await logIn(joining)
    await clusterPage(joining)
    const its = (what: string) => `form:has(input[name=cluster-token]) ${what}`
    await joining.fill(its('input[name=cluster-token]'), `${token.slice(0, -3)}x`)
    await joining.fill(its('input[name=cluster-address]'), second.address)
    await joining.fill(its('input[name=cluster-nodeName]'), 'right')
    await joining.click('button:has-text("Preview")')
    await joining.waitForSelector('.problem[role=alert]:has-text("copy the whole token again")')
    await joining.fill(its('input[name=cluster-token]'), token)
    await joining.click('button:has-text("Preview")')
    await joining.waitForSelector('.problem:has-text("can reach this node")')
    t.same(await axeOf(joining), [], 'axe of the preview of the join')
    t.equal((await seenBy(second)) === null, true, 'the preview joins nothing')
    await joining.click('button:has-text("Join site")')
    await joining.waitForSelector('.login >> text=This node has joined site. Log in with a user of the cluster.')
    await page.waitForSelector('.steps .done:has-text("right has joined")')
    await page.waitForSelector('.steps li:nth-child(4).done')
    await page.click('button:has-text("Done")')
    await begunAnew(second)
    await second.daemon.login()
    await logIn(joining)
    await clusterPage(joining)
    await joining.waitForSelector(`${card('right')} .badge:has-text("this node")`)
  })

  await t.test('a node that is gone: what still works, and what can be done', async (t) => {
    t.equal((await join(third, 'third', first)).status, 200)
    await allVote(first, 3)
    await page.waitForSelector(`${card('third')} .badge:has-text("online")`)
    t.equal(await page.locator('.trouble').count(), 0)
    await die(third)
    await page.waitForSelector('.trouble:has-text("Not answering: third")')
    await page.waitForSelector(`${card('third')} .badge:has-text("unreachable")`)
    t.match(await page.innerText('.trouble'), /Traffic and changes continue/)
    t.same(await axeOfLooks(page), [], 'axe while a node is gone')
    await page.click('.trouble button:has-text("Remove third")')
    const remove = page.locator('.dialog-foot button.danger')
    t.ok(await remove.isDisabled(), 'no node is removed by mistake')
    t.match(await page.innerText('.dialog-body'), /locked out/)
    t.same(await axeOf(page), [], 'axe before the removal')
    await page.fill('.dialog-body input', 'third')
    // The removal is refused while an etcd member restarts, so it is requested again.
    await until(
      'the removal',
      async () => {
        await remove.click({ timeout: 2_000 }).catch(() => undefined)
        return page.locator('.dialog').count()
      },
      (count) => count === 0,
    )
    await page.waitForSelector(card('third'), { state: 'detached' })
    await page.waitForSelector('.trouble', { state: 'detached' })
  })
  t.same([...here.faults, ...there.faults], [])
})
