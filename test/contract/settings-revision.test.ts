import t from 'tap'
import { applianceFixture } from '../fixtures/appliance.ts'

const SETTINGS = [
  { get: '/system/conntrack', put: '/system/conntrack', bodies: [{ size: 4096 }, { size: 4096, tcpTimeout: '1h' }] },
  { get: '/system/proxy', put: '/system/proxy', bodies: [{ enable: false }, { enable: false, username: 'u' }] },
  {
    get: '/system/datetime',
    put: '/system/datetime/timezone',
    bodies: [{ zone: 'Etc/UTC' }, { zone: 'Europe/Paris' }],
  },
  { get: '/system/datetime', put: '/system/datetime/ntp', bodies: [{ ntpEnabled: false }, { ntpEnabled: true }] },
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
  t.test(
    `PUT ${put}: the ETag of a read is what If-Match compares, and nothing fits before the first`,
    async (test) => {
      const { call, node } = await applianceFixture(test)
      const tag = async () => (await call('GET', `/${node}${get}`)).headers['ETag']
      const send = (body: object, ifMatch?: string) =>
        call('PUT', `/${node}${put}`, { body, headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } })
      const [first, second] = [bodies[0] ?? {}, bodies[1] ?? {}]
      test.equal(await tag(), undefined, 'nothing is stored')
      for (const sent of ['"999"', '*']) {
        const answer = await send(first, sent)
        test.equal(answer.status, 412, sent)
        test.match(answer.json, { code: 'REVISION_MISMATCH' })
      }
      test.equal((await call('GET', '/services/pending')).json.data.count, 0, 'and nothing was stored')
      test.equal((await send(first)).status, 200)
      const stale = String(await tag())
      test.match(stale, /^"\d+"$/)
      test.equal((await send(second, stale)).status, 200)
      test.equal((await send(first, stale)).status, 412, 'changed since')
      test.not(await tag(), stale)
      test.equal((await send(first, String(await tag()))).status, 200)
      test.equal((await send(second, '*')).status, 200)
    },
  )
}

t.test('PUT /system/datetime: what acts at once compares the ETag of its read as well', async (test) => {
  const { call, node, machine } = await applianceFixture(test)
  const path = `/${node}/system/datetime`
  const set = (sent: string) =>
    call('PUT', path, { body: { dateTime: '2026-01-31T13:45:00' }, headers: { 'if-match': sent } })
  const clocks = () => machine.host.journal.filter((entry) => JSON.stringify(entry).includes('2026-01-31')).length
  test.equal((await set('*')).status, 412, 'nothing is stored')
  test.equal((await call('PUT', `${path}/timezone`, { body: { zone: 'Etc/UTC' } })).status, 200)
  const stale = String((await call('GET', path)).headers['ETag'])
  test.equal((await call('PUT', `${path}/timezone`, { body: { zone: 'Europe/Paris' } })).status, 200)
  test.match((await set(stale)).json, { code: 'REVISION_MISMATCH', data: { sent: stale } })
  test.equal(clocks(), 0, 'the clock was not set')
  test.equal((await set(String((await call('GET', path)).headers['ETag']))).status, 200)
  test.equal(clocks(), 1)
})
