import t from 'tap'
import { CONCURRENT, Passwords } from '../../../src/auth/password.ts'
import { ApiError } from '../../../src/base/errors.ts'

t.test('a hash is argon2id and verifies only its password', async (test) => {
  const passwords = new Passwords()
  const hash = await passwords.hash('correct horse')
  test.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  test.equal(await passwords.verify(hash, 'correct horse'), true)
  test.equal(await passwords.verify(hash, 'correct horsE'), false)
})

t.test('without a hash the same work is done and the answer is no', async (test) => {
  const passwords = new Passwords()
  test.equal(await passwords.verify(undefined, 'anything'), false)
})

t.test('many at once all finish, and a flood is refused instead of being queued without end', async (test) => {
  const passwords = new Passwords()
  await passwords.prepare()
  const results = await Promise.allSettled(Array.from({ length: 80 }, () => passwords.verify(undefined, 'x')))
  const refused = results.filter((result) => result.status === 'rejected')
  test.ok(refused.length > 0 && refused.length <= 48 - CONCURRENT, `${refused.length} refused`)
  test.match(refused[0], { reason: { code: 'RATE_LIMITED' } })
  test.equal(await passwords.verify(undefined, 'x'), false)
})

t.test('a flood from one place delays no login from another', async (test) => {
  const passwords = new Passwords()
  await passwords.prepare()
  const order: string[] = []
  const attempt = (place: string) =>
    passwords.verify(undefined, 'guess', place).then(
      () => order.push(place),
      (error: unknown) => order.push(error instanceof ApiError ? `${place} ${error.code}` : String(error)),
    )
  const flood = Array.from({ length: 40 }, () => attempt('flood'))
  await Promise.all([...flood, attempt('admin')])
  test.equal(
    order.filter((entry) => entry === 'flood RATE_LIMITED').length,
    8 - CONCURRENT,
    'beside the running ones, 32 wait',
  )
  const served = order.filter((entry) => !entry.includes('RATE'))
  // Of the waiting ones it is the second's turn. The threads decide which finishes first.
  test.ok(served.indexOf('admin') < 10, served.join())
})

t.test('an unreadable hash matches no password', async (test) => {
  test.equal(await new Passwords().verify('garbage', 'garbage'), false)
  test.equal(await new Passwords().verify('', ''), false)
})
