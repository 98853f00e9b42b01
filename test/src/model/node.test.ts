import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import {
  ClockSettings,
  ConntrackLimit,
  ConntrackTimeouts,
  SHARED,
  SystemProxy,
  UserInterface,
} from '../../../src/model/node.ts'

const fits = (schema: TSchema, value: unknown) => Compile(schema).Check(value)

t.test('connection tracking: the size is of a node, the timeouts are shared and kept as sent', async (test) => {
  test.ok(fits(ConntrackLimit, { id: 'n', size: 262_144 }))
  for (const size of [1023, 2_147_483_648, 1024.5, '65536'])
    test.notOk(fits(ConntrackLimit, { id: 'n', size }), `${size}`)
  const timeouts = { id: SHARED, tcpTimeout: '15m', tcpFinTimeout: '120', udpTimeout: '1w' }
  test.ok(fits(ConntrackTimeouts, timeouts))
  test.notOk(fits(ConntrackTimeouts, { ...timeouts, udpTimeout: 300 }))
})

t.test('a proxy may have no address; nothing in it holds a control character', async (test) => {
  const proxy = { id: 'n', enable: true, address: null, username: 'u', password: 'p:"%', bypass: ['.example.test'] }
  test.ok(fits(SystemProxy, proxy))
  test.ok(fits(SystemProxy, { ...proxy, address: { value: 'proxy', port: 3128 } }))
  test.notOk(fits(SystemProxy, { ...proxy, address: { value: 'proxy', port: 0 } }))
  test.notOk(fits(SystemProxy, { ...proxy, password: 'a\nb' }))
  test.notOk(fits(SystemProxy, { ...proxy, username: 'a\u0000' }))
})

t.test('the user interface stores no console password', async (test) => {
  const stored = { id: 'n', apiPort: 9443, ipId: '', SSLCertificate: '', sshEnabled: true, sshPort: 22 }
  test.ok(fits(UserInterface, stored))
  test.notOk(fits(UserInterface, { ...stored, consolePassword: 'Secret-123' }))
  test.notOk(fits(UserInterface, { ...stored, apiPort: 0 }))
})

t.test('a clock: without a zone or NTP settings the machine is left as it was found', async (test) => {
  test.ok(fits(ClockSettings, { id: 'n', timezone: '', ntp: null }))
  test.ok(fits(ClockSettings, { id: 'n', timezone: 'Europe/Berlin', ntp: { enabled: true, servers: ['192.0.2.1'] } }))
  test.notOk(fits(ClockSettings, { id: 'n', timezone: 'Europe/Berlin' }))
})
