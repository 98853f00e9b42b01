import t from 'tap'
import { stillFacts } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('interfaces are those of the machine at present', async (test) => {
  const { call, node } = await borrow()
  const answer = await call('GET', `/${node}/interfaces`)
  test.equal(answer.status, 200)
  test.same(answer.json.data, await stillFacts().interfaces())
})
