import t from 'tap'
import { isSecretName, maskHeader, maskParameters } from '../../../workers/logs/masking.ts'

t.test('names of secrets, in any spelling', async (test) => {
  for (const name of [
    'token',
    'access_token',
    'idToken',
    'X-Api-Key',
    'API_KEY',
    'password',
    'newPassw',
    'code',
    'sig',
  ])
    test.ok(isSecretName(name), name)
  for (const name of ['Authorization', 'Proxy-Authorization', 'Cookie', 'Set-Cookie', 'x-amz-signature', 'PHPSESSID'])
    test.ok(isSecretName(name), name)
  for (const name of ['%74oken', 'to%6Ben', 'X-Amz-Credential']) test.ok(isSecretName(name), name)
  for (const name of ['page', 'q', 'User-Agent', 'monkey', 'author', 'encoder', 'design', ''])
    test.notOk(isSecretName(name), name)
})

t.test('values of parameters are masked at any place', async (test) => {
  test.equal(maskParameters('/a?x=1&token=s&y=2'), '/a?x=1&token=**&y=2')
  test.equal(maskParameters('/a;jsessionid=s/b?x=1'), '/a;jsessionid=**')
  test.equal(maskParameters('/a?token=a=b?c'), '/a?token=**')
  test.equal(maskParameters('/a?x=1;code=s#token=s'), '/a?x=1;code=**#token=**')
  test.equal(maskParameters('/token?none'), '/token?none')
  test.equal(maskParameters('/in?next=/reset?token=s&y=2'), '/in?next=/reset?token=**&y=2', 'in a value')
  test.equal(maskParameters('/in?next=/reset?x=/a?code=s'), '/in?next=/reset?x=/a?code=**')
  test.equal(maskParameters('/in?next=%2Freset%3Ftoken%3Ds&y=%20a'), '/in?next=**&y=%20a', 'in an encoded one')
  test.equal(maskParameters('/in?next=%252Freset%253Ftoken%253Ds'), '/in?next=**', 'encoded twice')
  test.equal(maskParameters('/in?next=%2Fa%3Fpage%3D2'), '/in?next=%2Fa%3Fpage%3D2')
  test.equal(maskParameters(`/in?next=%${'25'.repeat(9)}41&y=2`), '/in?next=**&y=2', 'encoded ten times')
  test.equal(maskParameters(`/in${'?a=%20'.repeat(100_000)}`).length, 600_003, 'however many there are')
  test.equal(maskParameters(`/in?token=${'?a='.repeat(100_000)}&y=2`), '/in?token=**&y=2')
})

t.test('headers that are secrets, and secrets in others', async (test) => {
  test.equal(maskHeader('Cookie', 'a=b'), '**')
  test.equal(maskHeader('User-Agent', 'curl/8 (a=b)'), 'curl/8 (a=b)')
  test.equal(maskHeader('Referer', 'https://u:p@x/?a=1&secret=s'), 'https://**@x/?a=1&secret=**')
})
