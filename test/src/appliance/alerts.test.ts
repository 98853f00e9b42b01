import t from 'tap'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { webhookReceiver } from '../../fixtures/alert-targets.ts'
import { ADMIN, caller, startIn } from '../../fixtures/appliance.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'
import { until } from '../../fixtures/until.ts'

/** Rules of a whole daemon on a machine that only records; the test waits only for the receiver of the webhook. */

t.test(
  'a daemon reports waiting changes, certificates and its disk, and what it was silenced about',
  { skip: noSmallDisk },
  async (test) => {
    const { pair } = certificateMaker(test)
    const root = pair({ name: 'of receivers', isCa: true })
    const receiver = await webhookReceiver(test, pair({ name: 'localhost', issuer: root }))
    // The usage of another disk depends on the machine.
    const { login, appliance } = await startIn(test, { state: smallDisk(test) })
    const call = caller(appliance, await login(ADMIN.email, ADMIN.password))
    await appliance.run()
    const ok = async (method: string, path: string, body: object = {}) => {
      const answer = await call(method, path, { body })
      test.ok(answer.status < 300, answer.text)
      return answer.json.data
    }
    const leaf = pair({ name: 'old.test', days: 5 })
    await ok('POST', '/certificates/certs', { name: 'ends soon', cert: leaf.cert, privateKey: leaf.key })
    await ok('POST', '/alerts/targets', {
      name: 'room',
      type: 'webhook',
      url: receiver.url(),
      caCertificate: root.cert,
    })
    const targets = [{ name: 'room' }]
    const always = { for: 0, clearFor: 0, targets }
    await ok('POST', '/alerts/rules', { ...always, name: 'end', when: { type: 'certificateEnd', names: 'ends*' } })
    await ok('POST', '/alerts/rules', { ...always, name: 'disk', when: { type: 'disk', value: 1 } })
    await ok('POST', '/alerts/rules', { ...always, name: 'waits', when: { type: 'applyWaiting', waits: 'apply' } })
    await call('PUT', '/services/apply')
    await ok('POST', '/alerts/silences', { objectName: 'pending*', reason: 'a change goes on', for: 600 })
    await ok('POST', '/ipvsDirector/rips', { name: 'web 1', ip: '127.0.0.1', port: 80 })
    const bodies = (await receiver.received(2)).map(({ body }) => JSON.parse(body))
    test.same(new Set(bodies.map(({ rule }) => rule.name)), new Set(['end', 'disk']))
    // oxlint-disable-next-line typescript/no-explicit-any -- an answer is looked into
    const alerts = async (): Promise<any[]> => (await call('GET', '/alerts')).json.data
    const shown = await until(
      'three alerts, and no delivery under way',
      alerts,
      (all) =>
        all.length >= 3 &&
        all.every(({ deliveries, state }) => state !== 'firing' || deliveries[0]?.outcome === 'delivered'),
    )
    test.match(
      shown.find(({ kind }) => kind === 'applyWaiting'),
      { state: 'silenced', objectName: 'pending changes', deliveries: [] },
    )
    test.match(
      shown.find(({ kind }) => kind === 'certificateEnd'),
      { state: 'firing', objectName: 'ends soon', value: 4 },
    )
    test.match((await call('GET', '/alerts/deliveries')).json.data, [
      { targetName: 'room', waiting: 0, delivered: 2, dropped: 0 },
    ])
    test.match((await call('GET', '/alerts?node=all')).json, { data: [{ nodeId: String }, {}, {}], nodes: [String] })
  },
)
