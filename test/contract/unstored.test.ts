import t from 'tap'
import { sharedAppliance } from '../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

/** Settings that mean something without a record, and a change of each. */
const SETTINGS = [
  ['/{node}/system/proxy', { enable: false, username: 'u' }],
  ['/snmp', { serviceIpId: '', port: 1161 }],
  ['/radius/config', { port: 1645 }],
  ['/saml/config', { idpEntityId: 'https://idp.test' }],
  ['/oidc/config', { clientId: 'fulcrum' }],
  ['/login/policy', { twoFactorRequired: true }],
  ['/layer7proxy/raw', { global: ['tune.bufsize 32768'] }],
  ['/layer7proxy/syslog', { host: '192.0.2.9' }],
] as const

for (const [path, change] of SETTINGS) {
  t.test(`PUT ${path}: an unstored setting, sent back as read, is no change`, async (test) => {
    const { call, node } = await borrow()
    const at = path.replace('{node}', node)
    const pending = async () => (await call('GET', '/services/pending')).json.data.count
    const read = async () => [(await call('GET', at)).json.data].flat()[0]
    const before = await read()
    test.equal((await call('PUT', at, { body: before })).status, 200)
    test.equal(await pending(), 0)
    test.equal((await call('PUT', at, { body: change })).status, 200)
    test.equal(await pending(), 1)
    test.equal((await call('PUT', at, { body: before })).status, 200, 'changed back')
    test.equal(await pending(), 0)
    test.same(await read(), before)
    await call('PUT', at, { body: change })
    test.equal((await call('PUT', '/services/apply')).status, 200)
    await call('PUT', at, { body: before })
    test.equal(await pending(), 1, 'changing a running setting back is a change')
  })
}

t.test('SNMP settings stay while its users are pending, whose keys are made for its engine', async (test) => {
  const { call } = await borrow()
  const user = { username: 'ops', authPassphrase: 'correct horse', privacyPassphrase: 'battery staple' }
  test.equal((await call('POST', '/snmp/users', { body: user })).status, 201)
  test.equal((await call('PUT', '/snmp', { body: (await call('GET', '/snmp')).json.data })).status, 200)
  test.equal((await call('GET', '/services/pending')).json.data.count, 2)
})
