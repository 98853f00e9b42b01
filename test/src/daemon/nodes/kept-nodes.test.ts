import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { foundNodes, keep } from '../../../../src/daemon/nodes/kept-nodes.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

const places = (count: number, port = 9444) =>
  Array.from({ length: count }, (_, index) => {
    const peer = { host: `127.0.0.${index + 1}`, port }
    return { number: index + 1, state: '', listen: peer, http: undefined, metrics: undefined, peer }
  })

t.test('the nodes that a start finds', async (t) => {
  const state = temporaryFolder(t, 'nodes')
  t.equal(foundNodes(state, places(3)), undefined, 'nothing yet')
  const demo = { frontend: 8080, origins: [1, 2] } as const
  await keep(state, { nodes: 3, peer: '127.0.0.1:9444', isComplete: false, demo })
  t.equal(foundNodes(state, places(4)), undefined, 'an unfinished cluster is started anew, with any number of nodes')
  await keep(state, { nodes: 3, peer: '127.0.0.1:9444', isComplete: true, demo })
  t.same(foundNodes(state, places(3)), { nodes: 3, peer: '127.0.0.1:9444', isComplete: true, demo })
  t.throws(() => foundNodes(state, places(4)), /has 3 nodes: start it with --nodes 3; .*--state/)
  t.throws(
    () => foundNodes(state, places(3, 9450)),
    /start them with --listen 127\.0\.0\.1:PORT --peer 127\.0\.0\.1:9444/,
  )
  t.equal(statSync(join(state, 'nodes.json')).mode & 0o777, 0o600)
})

t.test('a folder that does not belong to such a cluster is left alone', async (t) => {
  const state = temporaryFolder(t, 'nodes')
  mkdirSync(join(state, 'node-1'))
  t.throws(() => foundNodes(state, places(3)), /has a folder node-1 but no nodes\.json: .*--state/)
})
