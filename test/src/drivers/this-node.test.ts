import t from 'tap'
import { nodeIn } from '../../../src/drivers/this-node.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('a node has its original id, until it assumes another identity', async (test) => {
  test.equal(nodeIn(viewOf({}), 'born'), 'born')
  const identities = [
    { id: 'born', nodeId: 'assumed' },
    { id: 'another', nodeId: 'other' },
  ]
  test.equal(nodeIn(viewOf({ nodeIdentities: identities }), 'born'), 'assumed')
  test.equal(nodeIn(viewOf({ nodeIdentities: identities }), 'third'), 'third')
  test.equal(nodeIn(viewOf({ nodeIdentities: [{ id: 'this', nodeId: 'assumed' }] }), 'born'), 'assumed', 'as stored')
})
