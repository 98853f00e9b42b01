import t from 'tap'
import { shownReason } from '../../../workers/alerts/secrets.ts'

const TARGET = { id: 'i', name: 'n', enabled: true } as const

t.test('passwords are hidden in the forms that a mail server receives', (test) => {
  const target = { ...TARGET, type: 'mail', username: 'lb', password: 'geheim' } as const
  const plain = Buffer.from('\0lb\0geheim').toString('base64')
  const login = Buffer.from('geheim').toString('base64')
  test.equal(shownReason(`535 AUTH PLAIN ${plain}, ${login}, geheim of lb`, target), '535 AUTH PLAIN **, **, ** of lb')
  test.end()
})

t.test('of a URL everything after the host, and each longer piece of it', (test) => {
  const url = 'https://u:pass-phrase@chat.test/api/v1/T0123456/%41BCDEFGHI?a=b'
  const said = '/api/v1/T0123456/%41BCDEFGHI?a=b T0123456 ABCDEFGHI pass-phrase signs chat.test api'
  const hook = { ...TARGET, type: 'webhook', secret: 'signs' } as const
  test.equal(shownReason(said, { ...hook, url }), '** ** ** ** ** chat.test api')
  test.equal(shownReason('/ of https://chat.test/', { ...hook, url: 'https://chat.test/' }), '/ of https://chat.test/')
  test.end()
})

t.test('a long text is shortened after its secrets are removed, and moves no cursor', (test) => {
  const target = {
    ...TARGET,
    type: 'snmp',
    community: 'geheim-4711',
    authPassphrase: 'auth',
    privacyPassphrase: 'priv',
  } as const
  const reason = shownReason(`${'x'.repeat(490)}geheim-4711 auth\u001b[2J priv`, target)
  test.equal(reason, `${'x'.repeat(490)}** ** [2J `)
  test.end()
})
