import t from 'tap'
import { applianceFixture, stillFacts } from '../../appliance-fixture.ts'

t.test('interfaces are those of the machine as they are now', async (test) => {
  const { call, node } = await applianceFixture(test)
  const answer = await call('GET', `/${node}/interfaces`)
  test.equal(answer.status, 200)
  test.same(answer.json.data, await stillFacts().interfaces())
})
