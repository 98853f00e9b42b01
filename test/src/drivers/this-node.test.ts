import t from 'tap'
import { nodeIn } from '../../../src/drivers/this-node.ts'
import { viewOf } from '../../view-fixture.ts'

t.test('a node is who it was born as, until it assumed another identity', async (test) => {
  test.equal(nodeIn(viewOf({}), 'born'), 'born')
  test.equal(nodeIn(viewOf({ nodeIdentities: [{ id: 'this', nodeId: 'assumed' }] }), 'born'), 'assumed')
})
