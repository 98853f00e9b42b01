import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runNodes } from '../../../../src/daemon/nodes/run-nodes.ts'
import { testSettings } from '../../../fixtures/appliance.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

/** test/system/nodes.test.ts shows the life and the end of a cluster. */

const never = () => t.fail('it ended as if it had run')

t.test('impossible settings are refused before anything is created', async (t) => {
  const state = join(temporaryFolder(t, 'nodes'), 'state')
  const appliance = testSettings(state, { profile: 'appliance' })
  await t.rejects(runNodes(appliance, 3, {}, never), /^--nodes 3: is for the trial profile/)
  const long = join(state, 'long'.repeat(20))
  const listen = { host: '127.0.0.1', port: 1 }
  const deep = testSettings(long, { listen, peer: { ...listen, port: 2 } })
  await t.rejects(runNodes(deep, 3, {}, never), /node-1: too long for the sockets inside; use at most \d+ characters/)
  t.notOk(existsSync(state))
})

t.test('a folder of something else is left as it is', async (t) => {
  const state = temporaryFolder(t, 'nodes')
  mkdirSync(join(state, 'node-1'))
  const listen = { host: '127.0.0.1', port: 1 }
  const settings = testSettings(state, { listen, peer: { ...listen, port: 2 } })
  await t.rejects(runNodes(settings, 3, {}, never), /folder node-1 but no nodes\.json/)
  t.same(readdirSync(state).toSorted(), ['lock', 'node-1'])
})
