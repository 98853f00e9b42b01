import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import type { SnmpSettings } from '../../../src/model/snmp.ts'
import { SNMP_OFF } from '../../../src/model/snmp.ts'
import { TYPE } from '../../../src/snmp/agentx/pdu.ts'
import { FulcrumAgent } from '../../../src/snmp/fulcrum-agent.ts'
import { viewOf } from '../../fixtures/view.ts'
import { namesOf } from '../stats/names-fixture.ts'
import { masterAgent } from './agentx/master-fixture.ts'

const ON: SnmpSettings = { ...SNMP_OFF, enabledV3: true, serviceIpId: 'sip-1' }

t.test('it serves while the agent is on in running, and stops when it is switched off', async (test) => {
  const master = await masterAgent(test)
  let settings: readonly SnmpSettings[] = []
  const figures = {
    names: namesOf([], []),
    live: { figure: () => undefined, counting: { age_ms: () => 0 } },
    answers: () => true,
    nodeId: 'n',
    version: '1',
  }
  const running = {
    get: (...args: Parameters<ReturnType<typeof viewOf>['get']>) => viewOf({ snmpSettings: settings }).get(...args),
    list: () => [],
  } as unknown as ReturnType<typeof viewOf>
  const agent = new FulcrumAgent({ running, figures, path: master.path, log: silentLog })
  const alive = setInterval(() => undefined, 1000)
  test.teardown(() => {
    clearInterval(alive)
    agent.close()
  })
  agent.start()
  test.same(master.types(), [])
  settings = [ON]
  await master.until(() => master.seen.length === 2)
  test.same(master.types(), [TYPE.open, TYPE.register])
  settings = [{ ...ON, serviceIpId: '' }]
  await master.until(() => master.connections() === 0)
  settings = [ON]
  await master.until(() => master.seen.length === 5)
  agent.close()
  await master.until(() => master.connections() === 0)
  test.equal(master.types().at(-1), TYPE.close)
})
