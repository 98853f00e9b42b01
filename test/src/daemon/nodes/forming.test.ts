import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formCluster, titleOf } from '../../../../src/daemon/nodes/forming.ts'
import { NodeProcess } from '../../../../src/daemon/nodes/node-process.ts'
import { ADMIN, startIn } from '../../../fixtures/appliance.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { freePort } from '../../../fixtures/traffic.ts'

/** test/system/nodes.test.ts, with real daemons, shows that a cluster is formed. */

t.test('the refusal of a node ends it, and names the node', async (t) => {
  const state = temporaryFolder(t, 'node')
  const listen = { host: '127.0.0.1', port: await freePort() }
  const { appliance } = await startIn(t, { state, more: { listen } })
  await appliance.listen()
  const place = { number: 1, state, listen, http: undefined, metrics: undefined, peer: { ...listen, port: 65_535 } }
  const program = join(state, 'program.cjs')
  writeFileSync(program, 'setInterval(() => undefined, 1_000)')
  const node = new NodeProcess({ place, program, args: [], env: {} }, () => undefined)
  t.teardown(() => node.end())
  node.begin()
  const told: string[] = []
  const form = (login: typeof ADMIN) =>
    formCluster(
      [node],
      () => login,
      (line) => told.push(line),
    )
  await t.rejects(form({ ...ADMIN, password: 'wrong' }), /^node 1 refused POST \/token: /)
  await t.rejects(form(ADMIN), /^node 1 refused POST \/cluster: The address of this node cannot be used$/)
  t.same(told, [])
  t.equal(titleOf(node, [1, 2, 3]), 'node 1 of 3')
})
