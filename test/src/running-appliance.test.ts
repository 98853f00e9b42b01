import t from 'tap'
import { applianceFixture, caller } from '../appliance-fixture.ts'

t.test('a start makes the machine what running says, without a HAProxy that is not this daemon’s', async (test) => {
  const trial = await applianceFixture(test)
  await trial.appliance.run()
  test.ok(
    trial.machine.host.journal.some((entry) => entry.verb === 'unit'),
    'trial has a HAProxy of its own from the start',
  )
  const found = await applianceFixture(test, { profile: 'appliance' })
  await found.appliance.run()
  test.notOk(
    found.machine.host.journal.some((entry) => entry.verb === 'unit'),
    'an appliance’s is left as it was found',
  )
})

t.test('it listens, answers and closes', async (test) => {
  const { appliance, node } = await applianceFixture(test)
  const [api] = await appliance.listen()
  test.ok((api?.port ?? 0) > 0)
  test.equal(appliance.nodeId, node)
  test.equal((await caller(appliance)('GET', '/ping')).status, 200)
  test.equal(appliance.firstAdministrator?.email, 'admin@localhost')
})

t.test('an apply that nobody confirmed is taken back by the daemon itself', async (test) => {
  const { appliance, call } = await applianceFixture(test)
  await appliance.run()
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '127.0.0.1', port: 80 } })
  const applied = await call('PUT', '/services/apply', { body: { confirmWithin: 5 } })
  test.equal(applied.status, 200)
  test.match(applied.json.data.confirmBy, /^\d{4}-/)
  const pending = async () => (await call('GET', '/services/pending')).json.data
  test.match(await pending(), { revision: 2, count: 0 })
  while ((await pending()).revision === 2) await new Promise((resolve) => setTimeout(resolve, 100))
  test.match(await pending(), { revision: 3, count: 1, changes: [{ op: 'create', by: 'admin@localhost' }] })
})
