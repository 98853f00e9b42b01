import t from 'tap'
import { SNMP_OFF } from '../../../../src/model/snmp.ts'
import { renderSnmpd } from '../../../../src/drivers/snmpd/render.ts'

const settings = {
  ...SNMP_OFF,
  enabledV2: true,
  enabledV3: true,
  community: 'word',
  serviceIpId: 's',
  engineId: '80aa',
}
const user = {
  id: '1',
  username: 'alice',
  writeAccess: true,
  authAlgorithm: 'sha',
  privacyAlgorithm: 'aes',
  authKey: 'a1',
  privacyKey: 'b1',
} as const
const lines = (more: object, isShown = false) =>
  renderSnmpd({ settings: { ...settings, ...more }, ip: '192.0.2.1', users: [user] }, isShown).split('\n')

t.test('previews show neither the community nor a key', async (test) => {
  const shown = lines({ community: 'hush-hush' }, true).join('\n')
  test.notMatch(shown, /hush-hush|0xa1|0xb1/)
  test.match(shown, /com2sec fulcrumCommunity default "\*\*"/)
})

t.test('hostile text stays one value of one line', async (test) => {
  const count = lines({ location: 'x', contact: 'x' }).length
  for (const text of ['"', '\\', '\\"', '" default\\', "'", '$(id)', '`id`', '%n', ';', 'a # b', '\u2028', '\u0085']) {
    const rendered = lines({ community: text, location: `x${text}x`, contact: `x${text}x` })
    test.equal(rendered.length, count, text)
    test.ok(rendered.includes(`sysLocation x${text}x`))
    const [, word = ''] =
      /^com2sec fulcrumCommunity default ("[^]*")$/.exec(rendered.find((line) => line.startsWith('com2sec')) ?? '') ??
      []
    test.match(word, /^"(?:[^"\\]|\\[^])*"$/, 'no quote ends it early')
    test.equal(word.slice(1, -1).replaceAll(/\\(.)/g, '$1'), text)
  }
})

t.test('a text that cannot be one value is not written at all', async (test) => {
  const rendered = lines({ location: '#', contact: 'ü'.repeat(200), community: 'ü'.repeat(200) }).join('\n')
  test.notMatch(rendered, /sysLocation|sysContact|com2sec/)
})

t.test('nothing is writable by community, and users and rights are neither readable nor writable', async (test) => {
  const rendered = lines({})
  test.same(
    rendered.filter((line) => line.startsWith('access')),
    [
      'access fulcrumCommunity "" v2c noauth exact fulcrumAll none none',
      'access fulcrumReaders "" usm priv exact fulcrumAll none none',
      'access fulcrumWriters "" usm priv exact fulcrumAll fulcrumSet none',
    ],
  )
  for (const hidden of ['12', '13', '14', '15', '16', '18'])
    test.ok(rendered.includes(`view fulcrumAll excluded .1.3.6.1.6.3.${hidden}`))
  test.notMatch(rendered.join('\n'), /rwcommunity|createUser|v1 /)
})

t.test('no text can be set: the agent would read it as configuration at its next start', async (test) => {
  const settable = lines({ location: 'x' }).filter((line) => line.startsWith('view fulcrumSet'))
  test.same(settable, ['view fulcrumSet included .1.3.6.1.2.1.11.30'])
  test.ok(lines({}).includes('[snmp] persistentDir /var/lib/snmp/fulcrum'), 'where the unit checks the stored file')
})
