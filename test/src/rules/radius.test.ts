import t from 'tap'
import { mergedConfig, NO_RADIUS, sentProblems } from '../../../src/rules/radius.ts'

const HOST = { host: 'radius.test', port: null, sharedSecret: 'own', priority: 1 }
const STORED = { ...NO_RADIUS, sharedSecret: 'common', hosts: [HOST] }
const fields = ({ problems }: ReturnType<typeof mergedConfig>) => problems.map(({ field, code }) => [field, code])

t.test('omitted fields keep their stored values', async (test) => {
  test.same(mergedConfig({}, STORED), { settings: STORED, problems: [] })
  test.same(mergedConfig({ timeout: 9 }, STORED).settings, { ...STORED, timeout: 9 })
})

t.test('the common secret: omitted and ** keep it, empty and null clear it', async (test) => {
  for (const [sharedSecret, expected] of [
    ['**', 'common'],
    ['', ''],
    [null, ''],
    ['new', 'new'],
  ] as const) {
    test.equal(mergedConfig({ sharedSecret }, STORED).settings.sharedSecret, expected)
  }
  test.same(fields(mergedConfig({ sharedSecret: '**' }, NO_RADIUS)), [['sharedSecret', 'PASSWORD_NOT_STORED']])
})

t.test('the secret of a server: kept for the same host and port only', async (test) => {
  const secretOf = (host: object, more: object = {}) => {
    const { settings, problems } = mergedConfig({ ...more, hosts: [{ host: 'radius.test', ...host }] }, STORED)
    return problems.length > 0 ? problems[0]?.code : settings.hosts[0]?.sharedSecret
  }
  test.equal(secretOf({}), 'own')
  test.equal(secretOf({ host: 'RADIUS.test' }), 'own')
  test.equal(secretOf({ sharedSecret: '**' }), 'own')
  test.equal(secretOf({ port: 1812, sharedSecret: '**' }), 'own', 'which is the common port')
  test.equal(secretOf({ sharedSecret: '' }), '')
  test.equal(secretOf({ sharedSecret: null }), '')
  test.equal(secretOf({ sharedSecret: 'new' }), 'new')
  test.equal(secretOf({ port: 1645 }), '')
  test.equal(secretOf({ port: 1645, sharedSecret: '**' }), 'PASSWORD_NOT_STORED')
  test.equal(secretOf({ host: 'other.test', sharedSecret: '**' }), 'PASSWORD_NOT_STORED')
  test.equal(
    secretOf({ sharedSecret: '**' }, { port: 1645 }),
    'PASSWORD_NOT_STORED',
    'another common port is another server',
  )
})

t.test('an enabled or tested configuration needs a server, and a secret for each', async (test) => {
  test.same(fields(mergedConfig({ enabled: true }, NO_RADIUS)), [['hosts', 'INVALID_BODY']])
  test.same(fields(mergedConfig({}, NO_RADIUS, true)), [['hosts', 'INVALID_BODY']])
  const hosts = [{ host: 'a.test' }, { host: 'b.test', sharedSecret: 's' }]
  const without = mergedConfig({ enabled: true, hosts }, NO_RADIUS)
  test.match(without.problems, [{ field: 'sharedSecret', message: /a\.test/ }])
  test.notMatch(without.problems[0]?.message, /b\.test/)
  test.same(fields(mergedConfig({ hosts }, NO_RADIUS)), [], 'not while it is off')
})

t.test('the same server twice, with an explicit or implied port', async (test) => {
  const hosts = [{ host: 'a.test' }, { host: 'A.test', port: 1812 }, { host: 'a.test', port: 1 }]
  test.same(fields(mergedConfig({ hosts }, STORED)), [['hosts.1', 'INVALID_BODY']])
})

t.test('rules about single fields, all problems at once', async (test) => {
  const problems = sentProblems({
    hosts: [{ host: 'a b' }, { host: '192.0.2.1' }, { host: '::1%eth0' }, { host: '1.2.3' }],
    groupAttribute: 'Klass',
    groupMappings: [{ value: '', groupId: 'g' }],
    nasIdentifier: 'ä'.repeat(127),
  })
  test.same(
    problems.map(({ field }) => field),
    ['hosts.0.host', 'hosts.2.host', 'hosts.3.host', 'groupAttribute', 'groupMappings.0.value', 'nasIdentifier'],
  )
  test.same(sentProblems({ groupAttribute: '9:1', nasIdentifier: 'x'.repeat(253) }), [])
})
