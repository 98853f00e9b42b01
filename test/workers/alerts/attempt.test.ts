import t from 'tap'
import { placeOf } from '../../../workers/alerts/attempt.ts'
import { deliver } from '../../../workers/alerts.ts'
import { sendingTo } from '../../fixtures/alert-targets.ts'

const STRICT = { allowsLoopback: false, allowed: [] }
const REFUSED = /where no alert target may be/

t.test('addresses that only this machine may reach are refused, however they are written', async (test) => {
  const inward = [
    '127.0.0.1',
    '127.8.9.10',
    '[::1]',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0.0.0.0',
    '::',
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fe80::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    '168.63.129.16',
    '224.0.0.1',
    'localhost',
  ]
  for (const host of inward) await test.rejects(placeOf(host, STRICT), REFUSED, host)
  for (const host of ['127.0.0.1', 'localhost'])
    test.match(await placeOf(host, { ...STRICT, allowsLoopback: true }), { family: Number })
  await test.rejects(placeOf('169.254.169.254', { ...STRICT, allowsLoopback: true }), REFUSED)
  test.match(await placeOf('192.0.2.1', STRICT), { address: '192.0.2.1', family: 4 })
})

t.test('a setting allows networks, and nothing beside them', async (test) => {
  const allowed = ['127.0.0.1', '169.254.7.0/24', '::1']
  for (const host of ['127.0.0.1', '169.254.7.9', '[::1]']) test.ok(await placeOf(host, { ...STRICT, allowed }), host)
  for (const host of ['127.0.0.2', '169.254.169.254'])
    await test.rejects(placeOf(host, { ...STRICT, allowed }), REFUSED)
})

t.test('a connection goes to the address that was checked, wherever the name points later', async (test) => {
  const { lookup } = await placeOf('192.0.2.1', STRICT)
  const found = await new Promise((resolve) => {
    lookup('rebound.test', { all: true }, (_, addresses) => resolve(addresses))
  })
  test.same(found, [{ address: '192.0.2.1', family: 4 }])
  const one = await new Promise((resolve) => {
    lookup('rebound.test', {}, (_, address, family) => resolve([address, family]))
  })
  test.same(one, ['192.0.2.1', 4])
})

t.test('targets of every type are checked', async (test) => {
  const host = '169.254.169.254'
  const targets = [
    { type: 'mail', host, from: 'a@b', to: ['c@d'] },
    { type: 'webhook', url: `https://${host}/latest/meta-data` },
    { type: 'syslog', host },
    { type: 'snmp', host, version: '2c', community: 'public' },
  ] as const
  for (const target of targets) {
    const sent = await deliver(sendingTo({ ...target, ...('to' in target ? { to: [...target.to] } : {}) } as never))
    test.match(sent, { taken: 0, failure: { stage: 'resolve', reason: /no alert target may be/ } }, target.type)
  }
})
