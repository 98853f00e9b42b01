import t from 'tap'
import { silentLog } from '../../src/base/log.ts'
import { RADIUS_PROTOCOLS } from '../../src/model/sign-in.ts'
import { RadiusClient } from '../../src/radius/client.ts'
import { groupValues } from '../../src/radius/group-attribute.ts'
import { radiusConfig, silentHost } from '../simulators/radius-server.ts'
import { freeradius, freeradiusObstacle } from './freeradius.ts'

/** The RADIUS client and the real FreeRADIUS. */

t.setTimeout(1_800_000)
const skip = (await freeradiusObstacle()) ?? false
const client = () => new RadiusClient({ log: silentLog })
/** Patient enough for a busy machine. */
const PATIENT = { timeout: 20, retries: 1 }
/** For waits that run to their end. */
const IN_TIME = { timeout: 5 }
const PASSWORD = 'correct horse'

for (const authProtocol of RADIUS_PROTOCOLS) {
  t.test(`${authProtocol}: accepted with the groups that the server names, or refused`, { skip }, async (test) => {
    const { host } = await freeradius(test)
    const config = radiusConfig([host], { ...PATIENT, authProtocol })
    const accepted = await client().ask(config, 'alice', PASSWORD)
    if (accepted.outcome !== 'accepted') throw new Error(JSON.stringify(accepted))
    test.same(groupValues('Filter-Id', accepted.attributes), ['ops', 'readers'])
    test.same(groupValues('Class', accepted.attributes), ['admins'])
    const strange = await client().ask(config, 'pässi', 'pässwörd €')
    if (strange.outcome !== 'accepted') throw new Error(JSON.stringify(strange))
    test.same(groupValues('Filter-Id', strange.attributes), ['größe'])
    test.same(groupValues('Class', strange.attributes), ['0xff00'])
    test.match(await client().ask(config, 'longtail', 'x'.repeat(128)), { outcome: 'accepted' })
    for (const [name, password] of [
      ['alice', 'wrong'],
      ['alice', `${PASSWORD} `],
      ['nobody', PASSWORD],
    ] as const) {
      test.match(
        await client().ask(config, name, password),
        { outcome: 'refused', why: /refuses/ },
        `${name} ${password}`,
      )
    }
  })
}

t.test('a domain before the name', { skip }, async (test) => {
  const users = 'DEFAULT User-Name =~ "^CORP.bob$", Cleartext-Password := "pw"\n'
  const { host } = await freeradius(test, { users })
  for (const authProtocol of RADIUS_PROTOCOLS) {
    const config = radiusConfig([host], { ...PATIENT, authProtocol })
    test.match(await client().ask(config, String.raw`CORP\bob`, 'pw'), { outcome: 'accepted' }, authProtocol)
  }
})

t.test('a wrong shared secret: FreeRADIUS stays silent, and no login succeeds', { skip }, async (test) => {
  const { host } = await freeradius(test)
  const config = radiusConfig([{ ...host, sharedSecret: 'another' }])
  test.match(await client().ask(config, 'alice', PASSWORD), {
    outcome: 'unreachable',
    attempts: [{ outcome: 'silent' }],
  })
})

t.test('answers without Message-Authenticator are ignored, unless they are allowed', { skip }, async (test) => {
  const { host } = await freeradius(test, { signs: false })
  const required = await client().ask(radiusConfig([host], IN_TIME), 'alice', PASSWORD)
  test.match(required, { outcome: 'unreachable', attempts: [{ outcome: 'unprotected' }] })
  const allowed = radiusConfig([host], { ...PATIENT, requireMessageAuthenticator: false })
  test.match(await client().ask(allowed, 'alice', PASSWORD), { outcome: 'accepted' })
  test.match(await client().ask(allowed, 'alice', 'wrong'), { outcome: 'refused' })
})

t.test('two servers: by priority, and the second when the first is silent or gone', { skip }, async (test) => {
  const first = await freeradius(test, { users: 'alice Cleartext-Password := "at the first"\n' })
  const second = await freeradius(test, { secret: 'another secret' })
  const hosts = [
    { ...second.host, priority: 20 },
    { ...first.host, priority: 10 },
  ]
  const config = radiusConfig(hosts, PATIENT)
  const asked = client()
  test.match(await asked.ask(config, 'alice', 'at the first'), {
    outcome: 'accepted',
    attempts: [{ port: first.host.port }],
  })
  test.match(await asked.ask(config, 'alice', PASSWORD), { outcome: 'refused' }, "the first server's answer is final")
  await first.stop()
  const over = await asked.ask(config, 'alice', PASSWORD)
  test.match(over, { outcome: 'accepted', attempts: [{ outcome: 'unreachable' }, { port: second.host.port }] })
  const silent = radiusConfig([await silentHost(test), second.host], IN_TIME)
  test.match(await asked.ask(silent, 'alice', PASSWORD), { outcome: 'accepted', attempts: [{ outcome: 'silent' }, {}] })
  test.equal((await asked.ask(silent, 'alice', PASSWORD)).attempts.length, 1, 'the silent one is now asked last')
})

t.test('IPv6, and a name with addresses of both families', { skip }, async (test) => {
  const { host } = await freeradius(test, { address: '::1' })
  const config = radiusConfig([host], PATIENT)
  test.match(await client().ask(config, 'alice', PASSWORD), { outcome: 'accepted', attempts: [{ address: '::1' }] })
  const resolve = async () => ['127.0.0.1', '::1']
  const named = new RadiusClient({ log: silentLog, resolve })
  const answer = await named.ask(radiusConfig([{ ...host, host: 'radius.test' }], PATIENT), 'alice', PASSWORD)
  test.match(answer, { outcome: 'accepted', attempts: [{ address: '127.0.0.1' }, { address: '::1' }] })
})

t.test('a name that the system resolves', { skip }, async (test) => {
  const { host } = await freeradius(test)
  const config = radiusConfig([{ ...host, host: 'localhost' }], PATIENT)
  test.match(await client().ask(config, 'alice', PASSWORD), { outcome: 'accepted' })
})

t.test('fifty logins at once', { skip }, async (test) => {
  const { host } = await freeradius(test)
  const config = radiusConfig([host], { ...PATIENT, authProtocol: 'MSCHAPv2' })
  const asked = client()
  const logins = Array.from({ length: 50 }, (_, index) =>
    asked.ask(config, 'alice', index % 2 === 0 ? PASSWORD : 'wrong'),
  )
  const outcomes = (await Promise.all(logins)).map(({ outcome }) => outcome)
  test.same(
    outcomes,
    outcomes.map((_, index) => (index % 2 === 0 ? 'accepted' : 'refused')),
  )
})
