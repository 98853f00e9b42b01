import t from 'tap'
import { applianceFixture } from '../fixtures/appliance.ts'

const SETTINGS = [
  { get: '/system/conntrack', put: '/system/conntrack', bodies: [{ size: 4096 }, { size: 4096, tcpTimeout: '1h' }] },
  {
    get: '/system/proxy',
    put: '/system/proxy',
    bodies: [
      { enable: false, username: 'u' },
      { enable: false, username: 'v' },
    ],
  },
  {
    get: '/system/datetime',
    put: '/system/datetime/timezone',
    bodies: [{ zone: 'Etc/UTC' }, { zone: 'Europe/Paris' }],
  },
  { get: '/system/datetime', put: '/system/datetime/ntp', bodies: [{ ntpEnabled: false }, { ntpEnabled: true }] },
  {
    get: '/snmp',
    put: '/snmp',
    bodies: [
      { serviceIpId: '', port: 1161 },
      { serviceIpId: '', port: 1162 },
    ],
  },
  { get: '/login/policy', put: '/login/policy', bodies: [{ twoFactorRequired: true }, { twoFactorRequired: false }] },
  {
    get: '/layer7proxy/raw',
    put: '/layer7proxy/raw',
    bodies: [{ global: ['tune.bufsize 32768'] }, { global: ['tune.bufsize 65536'] }],
  },
  { get: '/layer7proxy/syslog', put: '/layer7proxy/syslog', bodies: [{ host: '192.0.2.9' }, { host: '192.0.2.8' }] },
  {
    get: '/system/userinterface',
    put: '/system/userinterface',
    bodies: [
      { apiPort: 8443, sshPort: 2201 },
      { apiPort: 8443, sshPort: 2202 },
    ],
  },
]

for (const { get, put, bodies } of SETTINGS) {
  t.test(`PUT ${put}: the ETag of a read is what If-Match compares, also before anything is stored`, async (test) => {
    const { call, node } = await applianceFixture(test)
    const at = (path: string) => (path.startsWith('/system/') ? `/${node}${path}` : path)
    const tag = async () => (await call('GET', at(get))).headers['ETag']
    const send = (body: object, ifMatch: string) => call('PUT', at(put), { body, headers: { 'if-match': ifMatch } })
    const [first, second] = [bodies[0] ?? {}, bodies[1] ?? {}]
    const none = String(await tag())
    test.equal(none, '"0"', 'nothing is stored')
    test.match((await send(first, '"999"')).json, { code: 'REVISION_MISMATCH', data: { current: none } })
    test.equal((await call('GET', '/services/pending')).json.data.count, 0, 'and nothing was stored')
    test.equal((await send(first, none)).status, 200)
    test.equal((await send(second, none)).status, 412, 'another client was first')
    const stale = String(await tag())
    test.match(stale, /^"\d+"$/)
    test.equal((await send(second, stale)).status, 200)
    test.equal((await send(first, stale)).status, 412, 'changed since')
    test.not(await tag(), stale)
    test.equal((await send(first, String(await tag()))).status, 200)
    test.equal((await send(second, '*')).status, 200)
  })
}

t.test('PUT /system/datetime: an immediate action compares the ETag of its read as well', async (test) => {
  const { call, node, machine } = await applianceFixture(test)
  const path = `/${node}/system/datetime`
  const set = (sent: string) =>
    call('PUT', path, { body: { dateTime: '2026-01-31T13:45:00' }, headers: { 'if-match': sent } })
  const clocks = () => machine.host.journal.filter((entry) => JSON.stringify(entry).includes('2026-01-31')).length
  test.equal((await set('"1"')).status, 412, 'nothing is stored')
  test.equal((await call('PUT', `${path}/timezone`, { body: { zone: 'Etc/UTC' } })).status, 200)
  const stale = String((await call('GET', path)).headers['ETag'])
  test.equal((await call('PUT', `${path}/timezone`, { body: { zone: 'Europe/Paris' } })).status, 200)
  test.match((await set(stale)).json, { code: 'REVISION_MISMATCH', data: { sent: stale } })
  test.equal(clocks(), 0, 'the clock was not set')
  test.equal((await set(String((await call('GET', path)).headers['ETag']))).status, 200)
  test.equal(clocks(), 1)
})
