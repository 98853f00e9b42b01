import t from 'tap'
import type { Test } from 'tap'
import { ask, isAway, isLocked, openSession, token } from '../../../../src/ui/core/api.ts'
import { answeredPage } from '../../../fixtures/page.ts'

/** Each request gets the next of these answers. */
function answering(test: Test, answers: readonly (readonly [number, object])[]): void {
  const left = [...answers]
  answeredPage(test, () => {
    const [status, body] = left.shift() ?? [500, {}]
    return Response.json({ status: 'error', ...body }, { status })
  })
  token.hold('of a session', false)
  test.teardown(() => {
    token.hold(undefined, false)
    isLocked.value = false
  })
}

const refusal = (code: string) => [401, { code, message: code }] as const

t.test('a wrong password or code in a form does not end the session', async (test) => {
  const codes = ['INVALID_CREDENTIALS', 'TWO_FACTOR_REQUIRED', 'TWO_FACTOR_INVALID']
  answering(test, codes.map(refusal))
  for (const code of codes) {
    await test.rejects(ask('PUT', '/localUsers/me/password', { body: {} }), { code })
    test.notOk(isLocked.value, code)
  }
})

t.test('a token that is unknown or has expired locks the page', async (test) => {
  const codes = ['UNAUTHENTICATED', 'TOKEN_EXPIRED']
  answering(test, codes.map(refusal))
  for (const code of codes) {
    isLocked.value = false
    await test.rejects(ask('GET', '/overview'), { code })
    test.ok(isLocked.value, code)
  }
})

t.test('without a session there is no lock', async (test) => {
  answering(test, [refusal('UNAUTHENTICATED')])
  token.hold(undefined, false)
  await test.rejects(ask('GET', '/overview'), { code: 'UNAUTHENTICATED' })
  test.notOk(isLocked.value)
})

t.test('requests that may have been carried out are distinguished from reads', async (test) => {
  answeredPage(test, () => {
    throw new TypeError('fetch failed')
  })
  test.teardown(() => (isAway.value = false))
  const sent = [
    ask('PUT', '/services/apply', { body: {} }),
    openSession({ email: 'ann@localhost', password: 'secret' }),
  ]
  const told = await Promise.all(sent.map((one) => one.catch((error: unknown) => error)))
  test.match(told, [{ mayBeDone: true }, { mayBeDone: false }])
})
