import t from 'tap'
import { restoration } from '../../../src/backup/restoring.ts'
import { EVERYTHING, SOME, TWO_NODES } from '../../fixtures/backup.ts'
import { refuses } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const FILE = {
  head: { applianceVersion: '0.1.0', createdAt: '', nodes: TWO_NODES, sections: [], isSealed: false },
  contents: EVERYTHING,
}
const STATE = { born: 'born', nodeId: 'node-1', running: viewOf({}), candidate: viewOf(SOME), interfaces: [] }

t.test('named sections make it partial, none full', (test) => {
  test.match(restoration({ file: 'f', sections: ['realServers'] }, FILE, STATE), { isFull: false, warnings: [] })
  const { isFull, contents, warnings, wanted, others } = restoration({ file: 'f', nodeId: 'node-2' }, FILE, STATE)
  test.equal(isFull, true)
  test.same(contents.nodeIdentities, [{ id: 'born', nodeId: 'node-2' }])
  test.match(warnings, [/route to the office of node-2/])
  test.same([wanted, others], ['node-2', [{ id: 'node-1', hostname: 'lb-1' }]])
  test.equal(contents.staticIps?.length, EVERYTHING.staticIps.length, 'records of the other node wait for it')
  test.end()
})

t.test('every problem is reported at once', async (test) => {
  const error = await refuses(test, 'INVALID_BODY', () => restoration({ file: 'f', sections: ['a', 'b'] }, FILE, STATE))
  test.equal(error.details.errors?.length, 2)
})
