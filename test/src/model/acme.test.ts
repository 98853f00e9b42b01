import t from 'tap'
import { Compile } from 'typebox/compile'
import { AcmeAccount, AcmeOrder } from '../../../src/model/acme.ts'
import { acmeAccount, acmeOrder } from '../../fixtures/acme.ts'

const account = Compile(AcmeAccount)
const order = Compile(AcmeOrder)

t.test('names are DNS names in lower case', async (test) => {
  const fits = (name: string) => order.Check(acmeOrder('o', 'a', { names: [name] }))
  for (const name of ['a.test', 'xn--bcher-kva.test', '1.2.test', '*.a.test', `${'a'.repeat(63)}.test`])
    test.ok(fits(name), name)
  const wrong = [
    '',
    'test',
    'A.test',
    'a_b.test',
    '*.test',
    '*a.test',
    'a.*.test',
    '-a.test',
    'a-.test',
    'a..test',
    'a.test.',
    'a test.x',
  ]
  for (const name of [
    ...wrong,
    'a.test\n',
    `${'a'.repeat(64)}.test`,
    `${'a.'.repeat(130)}test`,
    "a'.test",
    'a.test -i',
  ])
    test.notOk(fits(name), JSON.stringify(name))
  test.notOk(order.Check(acmeOrder('o', 'a', { names: [] })))
  test.notOk(order.Check(acmeOrder('o', 'a', { names: ['a.test', 'a.test'] })), 'each once')
})

t.test('directories are https, contacts addresses, and the terms are agreed to', async (test) => {
  const fits = (more: object) => account.Check({ ...acmeAccount('a'), ...more })
  test.ok(fits({}))
  for (const directoryUrl of ['http://ca.test/dir', 'https://u:p@ca.test/dir', 'https://ca.test/a b', 'ftp://x', ''])
    test.notOk(fits({ directoryUrl }), directoryUrl)
  test.ok(fits({ contact: ['a.b+c@site.test'] }))
  for (const address of ['a', 'a@b,c@d', 'a@b?x', 'a%0a@b', 'a b@c']) test.notOk(fits({ contact: [address] }), address)
  test.notOk(fits({ termsAgreed: false }))
  test.ok(fits({ externalAccountBinding: { keyId: 'kid-1', hmacKey: 'zWND-_A' } }))
  test.notOk(fits({ externalAccountBinding: { keyId: 'kid-1', hmacKey: 'not base64url!' } }))
})
