import t, { type Test } from 'tap'
import { CODE } from '../../src/radius/packet.ts'
import { applianceFixture } from '../fixtures/appliance.ts'
import { answerTo, radiusConfig, radiusServer, SECRET } from '../simulators/radius-server.ts'
import { createUser, PASSWORD } from './attack-fixture.ts'

/** Names that FreeRADIUS with its realms and a directory behind it treats as one account. */
const SPELLINGS = [
  'alice',
  'Alice',
  'ALICE',
  'aLice',
  'alIce',
  'aliCe',
  'alicE',
  'ALice',
  'AlIce',
  'AliCe',
  'CORP\\alice',
  'corp\\Alice',
  'CORP.EXAMPLE\\alice',
  'a\\alice',
  'b\\alice',
  'CORP\\ALICE',
  'alice@corp',
  'alice@CORP',
  'alice@corp.example',
  'Alice@a',
  'alice@b',
  'alice@c',
  'ALICE@d',
  'corp/alice',
  'a/alice',
  'b/Alice',
  'corp!alice',
  'alice%corp',
  'alice%a',
  'Alice%b',
  'CORP\\alice@corp',
  'al ice',
  'a lice',
  'ali  ce',
  'álice',
  'a\u0301lice',
  'ａlice',
  'aliçe',
  'ALÍCE',
  'alice@corp@corp',
]

const nameOf = (request: Buffer): string => {
  for (let at = 20; at < request.length; at += request[at + 1] ?? 1) {
    if (request[at] === 1) return request.subarray(at + 2, at + (request[at + 1] ?? 2)).toString()
  }
  return ''
}

async function fixture(test: Test, saidName?: string) {
  const asked: string[] = []
  const { host } = await radiusServer(test, (request, reply) => {
    asked.push(nameOf(request))
    const attributes = saidName === undefined ? [] : [{ type: 1, value: Buffer.from(saidName) }]
    reply(answerTo(request, saidName === undefined ? { code: CODE.accessReject } : { attributes }))
  })
  const made = await applianceFixture(test)
  const body = { ...radiusConfig([host]), sharedSecret: SECRET, denyUnmapped: false, enabled: true }
  const stored = await made.call('PUT', '/radius/config', {
    body: Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'id')),
  })
  test.equal(stored.status, 200, stored.text)
  test.equal((await made.call('PUT', '/services/apply')).status, 200)
  const login = (email: string, address = '198.51.100.1') =>
    made.anonymous('POST', '/token', { body: { email, password: 'a guess' }, address })
  return { ...made, asked, tryAs: login }
}

t.test('RADIUS: forty spellings of one name are five guesses, not two hundred', async (test) => {
  const { asked, tryAs } = await fixture(test)
  test.equal(SPELLINGS.length, 40)
  const statuses: number[] = []
  for (let round = 0; round < 5; round++) for (const name of SPELLINGS) statuses.push((await tryAs(name)).status)
  test.equal(asked.length, 5, asked.join())
  test.same([...new Set(statuses)], [401, 429])
  test.equal((await tryAs('bob')).status, 401, 'another name counts separately')
  test.equal((await tryAs('alice', '198.51.100.2')).status, 401, 'and so does another address')
})

t.test('RADIUS: no login succeeds under a name of the daemon', async (test) => {
  for (const name of ['fulcrum', 'System', 'demo']) {
    const { call, tryAs } = await fixture(test, name)
    test.equal((await tryAs('somebody')).status, 401, name)
    test.equal((await tryAs(name)).status, 401, name)
    test.same((await call('GET', '/radius/users')).json.data, [])
    await test.rejects(createUser(call, name), /INVALID_BODY/, 'nor as a local user')
  }
})

t.test('a flood of invented names unlocks no locked user', async (test) => {
  const { anonymous } = await applianceFixture(test)
  const attempt = (email: string, address: string, password = PASSWORD) =>
    anonymous('POST', '/token', { body: { email, password }, address })
  for (let n = 0; n < 5; n++) await attempt('admin@localhost', '198.51.100.1')
  test.equal((await attempt('admin@localhost', '198.51.100.1')).status, 429)
  const statuses = new Map<number, number>()
  for (let n = 0; n < 300; n++) {
    const { status } = await attempt(`made-up-${n}@localhost`, '198.51.100.2')
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  test.same(
    [...statuses],
    [
      [401, 200],
      [429, 100],
    ],
  )
  test.equal((await attempt('admin@localhost', '198.51.100.1')).status, 429)
  test.equal((await attempt('somebody@localhost', '198.51.100.3')).status, 401, 'other addresses are not affected')
})
