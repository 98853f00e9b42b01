import t from 'tap'
import { FLOATING, type LabNode, servingLab, site, vrrpLab, vrrpObstacle } from '../labs/vrrp-lab.ts'
import { until } from '../fixtures/until.ts'

/** Floating IPs of two nodes in network namespaces, with Debian's keepalived and HAProxy. */

const skip = (await vrrpObstacle()) ?? false

function two(nodes: readonly LabNode[]): readonly [LabNode, LabNode] {
  const [first, second] = nodes
  if (first === undefined || second === undefined) throw new Error('there are two')
  return [first, second]
}

t.test('a node that has just started takes nothing before it can serve', { skip }, async (test) => {
  const lab = await vrrpLab(test)
  const [first, second] = two(lab.nodes)
  const records = site(lab.nodes)
  for (const node of lab.nodes) {
    node.startDaemon(lab.nodeIds)
    await node.tell('converge', { records })
  }
  await first.tell('start')
  await second.tell('start')
  test.same([await first.holds(), await second.holds()], [[], []], 'no HAProxy runs')
  second.startHaproxy()
  await lab.untilOn(second)
  first.startHaproxy()
  await first.tell('yield', { syncGroup: 'all' })
  await lab.untilOn(second)
  test.pass('the first in order takes nothing back')
})

t.test('addresses of both families move to the other node', { skip }, async (test) => {
  const lab = await servingLab(test)
  const [first, second] = two(lab.nodes)
  await first.tell('yield', { syncGroup: 'all' })
  await lab.untilOn(second)
  test.pass('on request')

  await second.killHaproxy()
  await lab.untilOn(first)
  test.pass('when its HAProxy is killed')
  second.startHaproxy()
  // Otherwise the first node, whose keepalived is restarted, would be the only one that can have them.
  await second.untilReady()

  await first.killKeepalived()
  await lab.untilOn(second)
  test.pass('when its keepalived is killed, which leaves addresses: the unit removes them')

  await second.tell('maintain', { isLeaving: true })
  await lab.untilOn(first)
  test.pass('in maintenance')
  await second.tell('maintain', { isLeaving: false })

  first.daemon?.kill('SIGSTOP')
  await first.killHaproxy()
  await lab.untilOn(second)
  test.pass('when HAProxy is killed while the daemon hangs')
  first.startHaproxy()
  first.daemon?.kill('SIGCONT')

  await second.link('down')
  await lab.untilOn(first)
  test.pass('when its cable is pulled')
  await second.link('up')
  await lab.untilOn(first)

  await first.cut()
  await until('the other holder', async () => (await second.holds()).length === FLOATING.length)
  test.same((await first.holds()).length, FLOATING.length, 'a node that is cut off cannot know')
  await first.heal()
  const counts = async () => [(await first.holds()).length, (await second.holds()).length]
  await until('one holder', counts, (all) => all.toSorted((a, b) => a - b).join() === '0,2')
  test.pass('and one has them when they hear each other again')
})

t.test('a node that learns of its removal gives up what it took while nobody heard it', { skip }, async (test) => {
  const lab = await servingLab(test)
  const [, second] = two(lab.nodes)
  await second.cut()
  await until('a second holder', async () => (await second.holds()).length === FLOATING.length)
  await second.tell('removed')
  await until('no second holder', async () => (await second.holds()).length === 0)
  test.pass('the others do not answer it, so keepalived cannot know')
})

t.test(
  'a client that learned the wrong holder, for example from a node that was cut off, is corrected',
  { skip },
  async (test) => {
    const lab = await servingLab(test)
    const [first] = two(lab.nodes)
    // A takeover announces twice.
    for (let time = 0; time < 3; time++) {
      await lab.mislead()
      await lab.untilKnown(first)
    }
    test.pass('for both families, without a request')
  },
)

t.test(
  'adding or removing an address moves no other, even while only one node knows of the change',
  { skip },
  async (test) => {
    const lab = await servingLab(test)
    const [first, second] = two(lab.nodes)
    const { answers } = await lab.gap(20, async () => {
      for (const floating of [['fd00::100', '10.0.0.99', '10.0.0.100'], FLOATING]) {
        const records = site(lab.nodes, floating)
        for (const node of [second, first]) {
          await node.tell('apply', { records })
          await lab.untilOn(first)
        }
      }
    })
    test.ok(answers > 0)
    test.same(await second.holds(), [])
    const [one] = FLOATING
    for (const node of [second, first]) await node.tell('apply', { records: site(lab.nodes, [one]) })
    await lab.untilOn(first, [one])
    await first.tell('yield', { syncGroup: 'all' })
    await lab.untilOn(second, [one])
    test.pass('a single address moves as well')
  },
)
