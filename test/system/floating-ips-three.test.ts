import t from 'tap'
import { FLOATING, type LabNode, servingLab, vrrpObstacle } from '../labs/vrrp-lab.ts'
import { until } from '../fixtures/until.ts'

/** Floating IPs of three nodes in network namespaces, with Debian's keepalived and HAProxy. */

const skip = (await vrrpObstacle()) ?? false

/** Resolves when another one of these nodes has all floating IPs, and none of the others has any. */
const takenFrom = (before: LabNode | undefined, among: readonly LabNode[]): Promise<LabNode> =>
  until('another holder', async () => {
    const held = await Promise.all(among.map((node) => node.holds()))
    const some = among.filter((_, at) => (held[at]?.length ?? 0) > 0)
    const holder = among.find((_, at) => held[at]?.length === FLOATING.length)
    return holder !== before && some.length === 1 && holder
  })

t.test('floating IPs of three nodes', { skip }, async (test) => {
  const lab = await servingLab(test, 3)
  const [first, second, third] = lab.nodes as [LabNode, LabNode, LabNode]
  const except = (...away: readonly LabNode[]) => lab.nodes.filter((node) => !away.includes(node))

  const { longest_ms, answers } = await lab.gap(20, async () => {
    await first.killHaproxy()
    test.equal(
      (await takenFrom(first, lab.nodes)).id,
      second.id,
      'the next in order has them when the first cannot serve',
    )
  })
  test.ok(answers > 0)
  test.comment(`at the most ${Math.round(longest_ms)} ms without an answer`)
  first.startHaproxy()

  await second.killKeepalived()
  const taker = await takenFrom(second, lab.nodes)
  test.pass('a killed keepalived leaves nothing behind')

  await taker.cut()
  await taker.link('down')
  const next = await takenFrom(undefined, except(taker))
  test.pass('another node has them when one is off')
  await next.link('down')
  const [last] = except(taker, next) as [LabNode]
  await takenFrom(next, except(taker))
  test.pass('the last of three serves alone')
  await taker.link('up')
  await taker.heal()
  await next.link('up')
  await lab.untilOn(last)
  test.pass('a node that comes back takes none over')

  await last.cut()
  await takenFrom(undefined, except(last))
  test.pass('two nodes that hear each other agree without the third')
  test.same((await last.holds()).length, FLOATING.length, 'a node that is cut off cannot know')
  await last.heal()
  await takenFrom(undefined, lab.nodes)
  test.pass('and one has them when they hear each other again')

  for (const node of lab.nodes) await node.cut()
  for (const node of lab.nodes) await until('all of them', async () => (await node.holds()).length === FLOATING.length)
  test.pass('each has them while none hears another')
  for (const node of [third, first, second]) await node.heal()
  await takenFrom(undefined, lab.nodes)
  test.pass('and one of three when they do')
})
