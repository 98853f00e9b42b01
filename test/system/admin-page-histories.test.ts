import t from 'tap'
import { axeOfLooks, logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { beginningsOf, begunAnew, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, die, historyOf, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** The page of two nodes that have both continued alone, against real daemons. */

t.test('two histories: the changes of each, and a choice that is carried out', { skip: noBrowser }, async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = await Promise.all([daemons.start(), daemons.start()])
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: 5 })
  await die(left)
  const body = { partnerIsOff: 'left', reason: 'its disk is broken' }
  await until(
    'the takeover',
    () => right.daemon.call('PUT', '/cluster/takeover', { body }),
    ({ status }) => status === 200,
  )
  await addRip(right, 'of-right')
  await addRip(right, 'of-right-too')
  await die(right)
  await left.daemon.start()
  await left.daemon.login()
  await historyOf(left, 2)
  await addRip(left, 'of-left')
  await right.daemon.start()
  await right.daemon.login()

  const { page, faults } = await openedPage(t, left.daemon.port, { bypassCSP: true })
  await logIn(page)
  await page.waitForSelector('.menu')
  await page.evaluate("location.hash = '#/cluster'")
  await page.waitForSelector(
    '.trouble:has-text("Both nodes went on alone, and the configuration was changed on both.")',
  )
  t.match(await page.locator('.trouble button').allInnerTexts(), [
    /Keep the one of left \(1 change\)|Keep the one of right \(2 changes\)/,
    /Keep the one of left \(1 change\)|Keep the one of right \(2 changes\)/,
  ])
  t.same(await axeOfLooks(page), [], 'axe with two histories')
  const before = beginningsOf(left)
  await page.click('.trouble button:has-text("Keep the one of right (2 changes)")')
  await begunAnew(left, before)
  // Sessions are those of the history that stays.
  await left.daemon.login()
  await page.waitForSelector('.locked input[name=password]')
  await allVote(left, 2)
  t.same(await ripsOf(left), ['of-right', 'of-right-too'])
  t.match(await seenBy(left), { histories: null, halted: null })
  await page.reload()
  await logIn(page)
  await page.waitForSelector('.page-head .badge.good:has-text("quorum")')
  t.equal(await page.locator('.trouble').count(), 0)
  t.same(faults, [])
  return undefined
})
