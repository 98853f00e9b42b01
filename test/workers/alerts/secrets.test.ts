import t from 'tap'
import { withoutSecrets } from '../../../src/base/mask.ts'
import { secretsOf } from '../../../workers/alerts/secrets.ts'

const TARGET = { id: 'i', name: 'n', enabled: true } as const

t.test('passwords are hidden in the forms in which a mail server gets them', (test) => {
  const secrets = secretsOf({ ...TARGET, type: 'mail', username: 'lb', password: 'geheim' })
  const plain = Buffer.from('\0lb\0geheim').toString('base64')
  const login = Buffer.from('geheim').toString('base64')
  test.equal(
    withoutSecrets(`535 AUTH PLAIN ${plain}, ${login}, geheim of lb`, secrets),
    '535 AUTH PLAIN **, **, ** of lb',
  )
  test.end()
})

t.test('of a URL all behind the host, and each longer piece of it', (test) => {
  const url = 'https://u:pass-phrase@chat.test/api/v1/T0123456/%41BCDEFGHI?a=b'
  const secrets = secretsOf({ ...TARGET, type: 'webhook', url, secret: 'signs' })
  const said = '/api/v1/T0123456/%41BCDEFGHI?a=b T0123456 ABCDEFGHI pass-phrase signs chat.test api'
  test.equal(withoutSecrets(said, secrets), '** ** ** ** ** chat.test api')
  test.same(secretsOf({ ...TARGET, type: 'webhook', url: 'https://chat.test/' }), [])
  test.same(secretsOf({ ...TARGET, type: 'snmp', community: 'c', authPassphrase: 'a', privacyPassphrase: 'p' }), [
    'c',
    'a',
    'p',
  ])
  test.equal(withoutSecrets('as it is', ['']), 'as it is')
  test.end()
})
