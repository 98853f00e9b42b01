import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { foundNodes, keep } from '../../../../src/daemon/nodes/kept-nodes.ts'
import { temporaryFolder } from '../../../fixtures/config.ts'

t.test('what a start finds', async (t) => {
  const state = temporaryFolder(t, 'nodes')
  t.equal(foundNodes(state, 3), undefined, 'nothing yet')
  const demo = { frontend: 8080, origins: [1, 2] } as const
  await keep(state, { nodes: 3, isComplete: false, demo })
  t.equal(foundNodes(state, 4), undefined, 'one that was not finished is begun anew, with any number')
  await keep(state, { nodes: 3, isComplete: true, demo })
  t.same(foundNodes(state, 3), { nodes: 3, isComplete: true, demo })
  t.throws(() => foundNodes(state, 4), /has 3 nodes: start it with --nodes 3; .*--state/)
  t.equal(statSync(join(state, 'nodes.json')).mode & 0o777, 0o600)
})

t.test('a folder that is not of such a cluster is left alone', async (t) => {
  const state = temporaryFolder(t, 'nodes')
  mkdirSync(join(state, 'node-1'))
  t.throws(() => foundNodes(state, 3), /has a folder node-1 and no nodes\.json: .*--state/)
})
