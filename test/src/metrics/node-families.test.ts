import t from 'tap'
import { INTERFACE_FIGURES } from '../../../src/metrics/machine-figures.ts'
import { INTERFACES, NODE_FAMILIES } from '../../../src/metrics/node-families.ts'

t.test('interfaces in the order of their readings', async (test) => {
  const names = Object.keys(INTERFACE_FIGURES)
  test.same(
    INTERFACES.map(({ name }) => name),
    names.map((name) => `fulcrum_node_interface_${name}`),
  )
  test.equal(new Set(NODE_FAMILIES).size, NODE_FAMILIES.length)
})
