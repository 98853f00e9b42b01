import t from 'tap'
import { Sending, type SendingOptions } from '../../../src/client/sending.ts'
import { pause } from '../../../src/client/trying.ts'
import { Token } from '../../../src/client/token.ts'

const BASE = 'https://appliance.test/api/v1'
const answer =
  (status: number, body: object = {}, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
const later = (status: number, wait = '0') => answer(status, { code: 'LATER', message: 'm' }, { 'retry-after': wait })
const lost = () => {
  throw new TypeError('fetch failed')
}
const done = answer(200, { status: 'success', data: { token: 'fresh' } })

/** Gives these answers, in order, and records the requests. */
function scripted(answers: readonly (() => Response)[], more: Partial<SendingOptions> = {}) {
  const asked: string[] = []
  const left = [...answers]
  const token = new Token()
  const fetch = async (request: Request): Promise<Response> => {
    asked.push(
      `${request.method} ${request.url.slice(BASE.length)} ${request.headers.get('authorization') ?? '-'} ${await request.text()}`.trim(),
    )
    const next = left.shift()
    if (next === undefined) throw new Error('asked once too often')
    return next()
  }
  const sending = new Sending({ fetch, base: BASE, ...more }, token)
  const send = (method: string, body?: object) =>
    sending.send(new Request(`${BASE}/things`, { method, ...(body && { body: JSON.stringify(body) }) }))
  return { asked, token, sending, send }
}

t.test('a request refused for now is sent again with its body, whatever its effect', async (test) => {
  for (const status of [409, 429, 503]) {
    const { asked, send } = scripted([later(status), later(status), done])
    test.equal((await send('POST', { name: 'a' })).status, 200)
    test.same(asked, Array(3).fill('POST /things - {"name":"a"}'), String(status))
  }
})

t.test('a final refusal, or one for too long, is returned', async (test) => {
  for (const response of [answer(409, { code: 'IN_USE' }), answer(422), answer(500), later(429, '60'), later(401)]) {
    const { asked, send } = scripted([response])
    test.equal((await send('PUT')).status, response().status)
    test.equal(asked.length, 1)
  }
})

t.test('retries are limited', async (test) => {
  const { asked, send } = scripted(
    Array.from({ length: 9 }, () => later(429)),
    { wait_s_max: 0.6 },
  )
  test.equal((await send('GET')).status, 429)
  test.equal(asked.length, 3)
  const twice = scripted([lost, lost, done], { tries_max: 2 })
  await test.rejects(twice.send('GET'), TypeError)
})

t.test('a request that may have been carried out is not repeated; a read is', async (test) => {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { asked, send } = scripted([lost, done])
    await test.rejects(send(method), TypeError, method)
    test.equal(asked.length, 1)
  }
  const { asked, send } = scripted([lost, lost, done])
  test.equal((await send('GET')).status, 200)
  test.equal(asked.length, 3)
  const other = scripted([
    () => {
      throw new RangeError('no network error')
    },
  ])
  await test.rejects(other.send('GET'), RangeError)
})

t.test('a wait can be stopped', async (test) => {
  const { sending } = scripted([later(429, '9')])
  const ending = new AbortController()
  const going = sending.send(new Request(`${BASE}/things`, { signal: ending.signal }))
  ending.abort(new Error('enough'))
  await test.rejects(going)
  await test.rejects(pause(1, ending.signal), /enough/)
})

t.test('the second factor is requested when the account has one', async (test) => {
  const required = answer(401, { code: 'TWO_FACTOR_REQUIRED', message: 'm' })
  const { asked, sending, token } = scripted([required, done])
  await sending.logIn({ email: 'a', password: 'b', code: async () => '123456' })
  test.same(asked, [
    'POST /token - {"email":"a","password":"b"}',
    'POST /token - {"email":"a","password":"b","code":"123456"}',
  ])
  test.equal(token.value, 'fresh')
  const wrong = scripted([answer(401, { code: 'INVALID_CREDENTIALS', message: 'm' })])
  await test.rejects(wrong.sending.logIn({ email: 'a', password: 'b', code: () => '' }), {
    code: 'INVALID_CREDENTIALS',
  })
  const first = scripted([required])
  await test.rejects(first.sending.logIn({ email: 'a', password: 'b' }), { code: 'TWO_FACTOR_REQUIRED' })
})

t.test('with credentials it logs in automatically, and again after the session ended, once for all', async (test) => {
  const expired = answer(401, { code: 'TOKEN_EXPIRED', message: 'm' })
  const credentials = () => ({ email: 'a', password: 'b' })
  const { asked, send } = scripted([done, done, expired, done, done], { credentials })
  test.equal((await send('GET')).status, 200)
  test.equal(asked[0], 'POST /token - {"email":"a","password":"b"}')
  test.equal(asked[1], 'GET /things Bearer fresh')
  test.equal((await send('POST', { a: 1 })).status, 401, 'the same token again counts as no new one')
  const other = scripted([expired, answer(200, { data: { token: 'second' } }), done], { credentials })
  other.token.hold('first', false)
  test.equal((await other.send('POST', { a: 1 })).status, 200)
  test.same(other.asked, [
    'POST /things Bearer first {"a":1}',
    'POST /token - {"email":"a","password":"b"}',
    'POST /things Bearer second {"a":1}',
  ])
  const without = scripted([expired])
  without.token.hold('first', false)
  test.equal((await without.send('GET')).status, 401)
})

t.test('a wrong password of one’s own account does not count as an ended session', async (test) => {
  const credentials = () => ({ email: 'a', password: 'b' })
  for (const code of ['INVALID_CREDENTIALS', 'TWO_FACTOR_INVALID']) {
    const { asked, token, send } = scripted([answer(401, { code, message: 'm' })], { credentials })
    token.hold('first', false)
    const response = await send('PUT', { current: 'wrong' })
    test.match(await response.json(), { code }, 'which can still be read')
    test.same(asked, ['PUT /things Bearer first {"current":"wrong"}'], code)
  }
})

t.test('a renewal without an answer does not delay requests for ever', async (test) => {
  const late = new AbortController()
  test.intercept(AbortSignal, 'timeout', { value: () => late.signal })
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = new Token()
  token.hold(`${part({})}.${part({ iat: 0, exp: 60 })}.signature`, false)
  const fetch = ({ url, signal }: Request): Promise<Response> =>
    url.endsWith('/token')
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      : Promise.resolve(done())
  const sending = new Sending({ fetch, base: BASE }, token)
  const sent = sending.send(new Request(`${BASE}/things`))
  setImmediate(() => late.abort(new Error('late')))
  test.equal((await sent).status, 200)
})
