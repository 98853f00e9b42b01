import t from 'tap'
import { axeOfLooks, logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { allVote, die } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** The page of two nodes, against real daemons with a real etcd each. */

const card = (name: string) => `[data-node="${name}"]`

t.test('two nodes, one of which is gone', { skip: noBrowser }, async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') {
    t.pass(`# SKIP ${daemons}`)
    return
  }
  const [first, second] = await Promise.all([daemons.start(), daemons.start()])
  await form(first, 'left')
  t.equal((await join(second, 'right', first)).status, 200)
  await allVote(first, 2)
  const { page, faults } = await openedPage(t, first.daemon.port, { bypassCSP: true })
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate("location.hash = '#/cluster'")
  await page.waitForSelector(card('right'))

  await t.test('maintenance begins and ends', async () => {
    await page.click(`${card('right')} button:has-text("Start maintenance")`)
    await page.waitForSelector(`${card('right')} .problem:has-text("In maintenance since")`)
    await page.click(`${card('right')} button:has-text("End maintenance")`)
    await page.waitForSelector(`${card('right')} .problem`, { state: 'detached' })
    // The node in maintenance has given up its vote.
    await allVote(first, 2)
  })

  await t.test('nothing can be changed, and the other node may continue alone', async (t) => {
    await die(second)
    await page.waitForSelector('.page-head .badge:has-text("no quorum")')
    await page.waitForSelector('.trouble:has-text("Nothing can be changed until enough nodes answer.")')
    t.match(await page.innerText('.tiles'), /Nothing can be changed at the moment/)
    t.same(await axeOfLooks(page), [], 'axe without a quorum')
    await page.click('.trouble button:has-text("Go on alone")')
    await page.waitForSelector('.dialog-body .field')
    await page.fill('.dialog-body .field:has-text("Partner") input', 'right')
    await page.fill('.dialog-body .field:has-text("Reason") input', 'its disk is broken')
    // Refused until it is certain that the other node does not answer.
    await until(
      'the takeover',
      async () => {
        await page.click('.dialog-foot button:has-text("Send")', { timeout: 2_000 }).catch(() => undefined)
        return page.locator('.dialog-body .good-text, .page-head .badge:has-text("no quorum")').allInnerTexts()
      },
      (texts) => !texts.includes('no quorum') || texts.length > 1,
    )
    await page.click('.dialog-foot button:has-text("Close")')
    await page.waitForSelector('.page-head .badge.good')
  })
  t.same(faults, [])
})
