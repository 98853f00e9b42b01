import t from 'tap'
import { Value } from 'typebox/value'
import { AUTH_ALGORITHMS, PRIVACY_ALGORITHMS, SNMP_OFF, SnmpSettings, SnmpUser } from '../../../src/model/snmp.ts'

const user = {
  id: 'u',
  username: 'a.b_c-d@e',
  writeAccess: false,
  authAlgorithm: 'sha',
  privacyAlgorithm: 'aes',
  authKey: 'aa',
  privacyKey: 'bb',
}

t.test('a new installation is off, and becomes a record with an engine', async (test) => {
  test.match(SNMP_OFF, { enabledV2: false, enabledV3: false, port: 161, serviceIpId: '' })
  test.equal(Value.Check(SnmpSettings, { ...SNMP_OFF, engineId: '80001f8805aabb' }), true)
  test.equal(Value.Check(SnmpSettings, SNMP_OFF), false, 'there is no record without one')
})

t.test('names and keys of users hold nothing that could be syntax', async (test) => {
  test.equal(Value.Check(SnmpUser, user), true)
  for (const username of ['', 'a b', 'a"', 'a\n', 'x'.repeat(33)])
    test.equal(Value.Check(SnmpUser, { ...user, username }), false, JSON.stringify(username))
  for (const authKey of ['AA', '0xaa', 'aa bb', 'a'.repeat(129)])
    test.equal(Value.Check(SnmpUser, { ...user, authKey }), false, authKey)
})

t.test('algorithms are those of snmpd', async (test) => {
  for (const authAlgorithm of AUTH_ALGORITHMS)
    for (const privacyAlgorithm of PRIVACY_ALGORITHMS)
      test.equal(Value.Check(SnmpUser, { ...user, authAlgorithm, privacyAlgorithm }), true)
  test.equal(Value.Check(SnmpUser, { ...user, privacyAlgorithm: '3des' }), false)
})
