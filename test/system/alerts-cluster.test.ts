import t from 'tap'
import { webhookReceiver } from '../fixtures/alert-targets.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { die, threeNodes } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Alerts of the whole cluster are sent once, by any remaining node. */

t.test('the sending node dies: the next node sends the message once, and silences apply to all nodes', async (test) => {
  const daemons = await ClusterDaemons.begin(test)
  if (typeof daemons === 'string') return test.pass(`# SKIP ${daemons}`)
  const { pair } = certificateMaker(test)
  const root = pair({ name: 'of receivers', isCa: true })
  const receiver = await webhookReceiver(test, pair({ name: 'localhost', issuer: root }))
  const { first, second, third } = await threeNodes(daemons)
  const { daemon } = second
  await daemon.data('POST', '/alerts/targets', {
    name: 'room',
    type: 'webhook',
    url: receiver.url(),
    caCertificate: root.cert,
  })
  const rule = { for: 2, clearFor: 2, targets: [{ name: 'room' }] }
  await daemon.data('POST', '/alerts/rules', { ...rule, name: 'members', when: { type: 'cluster' } })
  await daemon.data('PUT', '/services/apply')
  const { id } = await third.daemon.data('POST', '/alerts/silences', {
    objectName: 'nobody',
    reason: 'of all',
    for: 600,
  })
  const silences = () => daemon.data('GET', '/alerts/silences')
  await until('the silence is everywhere', silences, (all) => all.some((one: { id: string }) => one.id === id))

  await die(first)
  // Both remaining nodes see the condition; only one of them sends.
  for (const node of [second, third])
    await until(
      'it fires',
      () => node.daemon.data('GET', '/alerts?state=firing'),
      (alerts) => alerts.some(({ objectName }: { objectName: string }) => objectName === 'left'),
    )
  await receiver.received(1)
  const [told, ...others] = receiver.posts.map(({ body }) => JSON.parse(body))
  test.match(told, { nodeId: second.daemon.node, alerts: [{ objectName: 'left', text: 'node left is unreachable' }] })
  test.same(others, [], 'the third node leaves it to the second')
  const listed = await third.daemon.data('GET', '/alerts?node=all&state=firing')
  test.equal(listed.length, 2, 'of the two nodes that answer')
  return undefined
})
