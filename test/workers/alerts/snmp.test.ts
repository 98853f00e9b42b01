import t from 'tap'
import type { ToldAlert } from '../../../src/model/alerts.ts'
import { deliver } from '../../../workers/alerts.ts'
import { alertMessage, noTrapd, sendingTo, snmptrapd } from '../../fixtures/alert-targets.ts'
import { freePort } from '../../fixtures/traffic.ts'

const OID = '.1.3.6.1.4.1.8072.9999.9999.70'

t.test('a session has one listener, however many alerts it sends', async (test) => {
  const [alert] = alertMessage().alerts
  const alerts = Array.from({ length: 20 }, (_, at) => ({ ...alert, id: `a-${at}` }) as ToldAlert)
  const warnings: string[] = []
  const warned = ({ name }: Error) => void warnings.push(name)
  process.on('warning', warned)
  test.teardown(() => process.off('warning', warned))
  const target = { type: 'snmp', host: '127.0.0.1', port: await freePort(), version: '2c', community: 'x' } as const
  test.match(await deliver(sendingTo(target, [alertMessage({ alerts, count: 20 })])), { taken: 1 })
  await new Promise(setImmediate)
  test.notOk(warnings.includes('MaxListenersExceededWarning'))
})

t.test('snmptrapd accepts traps of version 2c', { skip: noTrapd }, async (test) => {
  const manager = await snmptrapd(test, ['authCommunity log of-ours'])
  const target = { type: 'snmp', host: '127.0.0.1', port: manager.port, version: '2c', community: 'of-ours' } as const
  const long = alertMessage({ phase: 'resolved', rule: { id: 'r', name: 'ü'.repeat(300) } })
  test.same(await deliver(sendingTo(target, [alertMessage(), long])), { taken: 2, failure: undefined })
  const text = await manager.received(`${OID}.0.2`)
  test.match(text, `${OID}.0.1`, 'raised')
  test.match(text, `${OID}.1.5.1.0 = STRING: "message-1"`)
  test.match(text, `${OID}.1.5.3.0 = INTEGER: 3`)
  test.match(text, `${OID}.1.5.6.0 = STRING: "shop/web-1"`)
})

t.test('the uptime in a notification wraps around after 497 days, as SNMP has it', { skip: noTrapd }, async (test) => {
  const uptime = process.uptime.bind(process)
  test.teardown(() => Object.assign(process, { uptime }))
  process.uptime = () => 2 ** 32 / 100 + 86_400
  const user = 'createUser signed SHA "authentic secret"'
  const manager = await snmptrapd(test, ['authCommunity log of-ours', user, 'authUser log signed auth'])
  const target = { type: 'snmp', host: '127.0.0.1', port: manager.port } as const
  const trap = { ...target, version: '2c', community: 'of-ours' } as const
  test.same(await deliver(sendingTo(trap)), { taken: 1, failure: undefined })
  test.match(await manager.received('message-1'), /1\.3\.6\.1\.2\.1\.1\.3\.0 = [^\n]*\(8640000\)/)
  const inform = { ...target, username: 'signed', authAlgorithm: 'sha', authPassphrase: 'authentic secret' } as const
  test.same(await deliver(sendingTo(inform, [alertMessage({ id: 'message-2' })])), { taken: 1, failure: undefined })
  test.match(await manager.received('message-2'), /\(8640000\)[^]*\(8640000\)/)
})

t.test('snmptrapd acknowledges informs of version 3', { skip: noTrapd }, async (test) => {
  const manager = await snmptrapd(test, [
    'createUser both SHA-256 "authentic secret" AES "private secret"',
    'createUser signed SHA "authentic secret"',
    'authUser log both priv',
    'authUser log signed auth',
  ])
  const target = {
    type: 'snmp',
    host: '127.0.0.1',
    port: manager.port,
    username: 'both',
    authPassphrase: 'authentic secret',
  } as const
  const both = { ...target, privacyPassphrase: 'private secret' }
  test.same(await deliver(sendingTo(both)), { taken: 1, failure: undefined })
  test.match(await manager.received('message-1'), `${OID}.0.1`)
  const signed = { ...target, username: 'signed', authAlgorithm: 'sha' } as const
  test.same(await deliver(sendingTo(signed, [alertMessage({ id: 'message-2' })])), { taken: 1, failure: undefined })
  await manager.received('message-2')
  const wrong = await deliver(sendingTo({ ...both, authPassphrase: 'another passphrase' }))
  test.match(wrong, { taken: 0, failure: { stage: 'authenticate' } })
  test.match(await deliver(sendingTo({ ...both, username: 'nobody' })), {
    taken: 0,
    failure: { stage: 'authenticate' },
  })
  test.notMatch(JSON.stringify(wrong), 'passphrase')
})
