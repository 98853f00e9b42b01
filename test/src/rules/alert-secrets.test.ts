import t from 'tap'
import { mergedTarget, type SentTarget, shownTarget } from '../../../src/rules/alert-secrets.ts'
import { chat } from '../../fixtures/alerts.ts'

const { id: _, ...STORED } = chat({ secret: 'signs', headers: [{ name: 'X-Key', value: 'opens' }] })
const { url: __, headers: ___, secret: ____, ...BASE } = STORED
const MAIL = { ...BASE, type: 'mail', host: 'mail.test', username: 'u', password: 'opens' } as const

const merged = (sent: SentTarget, stored: typeof STORED | typeof MAIL = STORED) => {
  const { target, problems } = mergedTarget(sent, stored)
  return problems.length > 0 ? problems.map(({ field, code }) => `${field} ${code}`) : target
}

t.test('secrets are never shown, and neither is the part of a webhook after the host', (test) => {
  const shown = shownTarget({ id: 'i', ...STORED })
  test.match(shown, { url: 'https://chat.test/**', secret: '**', headers: [{ name: 'X-Key', value: '**' }] })
  test.notMatch(JSON.stringify(shown), /a-secret-of-ours|signs|opens/)
  test.same(merged(Object(shown)), { id: 'i', ...STORED }, 'sent back, it is unchanged')
  test.end()
})

t.test('an omitted field or ** stays, null clears', (test) => {
  test.same(merged({ name: 'x' }), { ...STORED, name: 'x' })
  test.same(merged({ secret: '**' }), STORED)
  const { secret: _secret, ...without } = STORED
  test.same(merged({ secret: null }), without)
  test.same(merged({ secret: '' }), without)
  test.match(merged({ headers: null }), { headers: undefined })
  test.same(
    merged({
      headers: [
        { name: 'x-key', value: '**' },
        { name: 'New', value: 'v' },
      ],
    }),
    {
      ...STORED,
      headers: [
        { name: 'x-key', value: 'opens' },
        { name: 'New', value: 'v' },
      ],
    },
  )
  test.end()
})

t.test('a secret that is not stored cannot be kept', (test) => {
  test.same(merged({ secret: '**' }, MAIL), ['secret PASSWORD_NOT_STORED'])
  test.same(merged({ headers: [{ name: 'Other', value: '**' }] }), ['headers.0.value PASSWORD_NOT_STORED'])
  test.match(merged({ url: 'https://other.test/**' }), ['url PASSWORD_NOT_STORED', /secret/, /headers/])
  test.end()
})

t.test('secrets belong to the address for which they were given', (test) => {
  test.same(merged({ host: 'evil.test' }, MAIL), ['password INVALID_BODY'])
  test.same(merged({ host: 'evil.test', password: '**' }, MAIL), ['password INVALID_BODY'])
  test.match(merged({ host: 'evil.test', password: 'another' }, MAIL), { host: 'evil.test', password: 'another' })
  test.match(merged({ host: 'evil.test', password: null }, MAIL), { host: 'evil.test', password: undefined })
  test.match(merged({ url: 'https://evil.test/x' }), ['secret INVALID_BODY', 'headers INVALID_BODY'])
  test.match(merged({ url: 'https://evil.test/x', secret: null, headers: [{ name: 'X-Key', value: '**' }] }), [
    'headers.0.value INVALID_BODY',
  ])
  test.match(merged({ url: 'https://chat.test/other' }), { url: 'https://chat.test/other', secret: 'signs' })
  test.end()
})

t.test('a target keeps its type', (test) => {
  test.same(merged({ type: 'mail' }), ['type INVALID_BODY'])
  test.end()
})
