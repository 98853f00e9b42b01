import t from 'tap'
import { pause, tried } from '../../../src/client/trying.ts'

const answer = (status: number, wait?: string) => ({
  status,
  ok: status < 300,
  headers: { get: () => wait ?? null },
  body: null,
  json: async () => ({}),
})
const mayRepeat = (error: unknown) => error instanceof TypeError

/** Returns the result of these answers, and the number of attempts. */
async function sending(answers: readonly (() => ReturnType<typeof answer>)[], more: object = {}) {
  let sent = 0
  const send = async () => {
    const next = answers[sent]
    sent += 1
    if (next === undefined) throw new Error('sent once too often')
    return next()
  }
  const status = await tried(send, { mayRepeat, ...more }).then(
    (one) => one.status,
    (error: unknown) => String(error),
  )
  return { status, sent }
}
const lost = () => {
  throw new TypeError('lost')
}

t.test('a request refused for now is sent again', async (test) => {
  for (const status of [409, 429, 503])
    test.same(await sending([() => answer(status, '0'), () => answer(200)]), { status: 200, sent: 2 })
  test.match(await sending([() => answer(409)]), { status: 409 }, 'without a time it is the result')
  test.match(await sending([() => answer(429, '11')]), { status: 429 }, 'and so is one with a time that is too late')
  test.match(await sending([() => answer(401, '0')]), { status: 401 })
})

t.test('a request without an answer is repeated where allowed, a limited number of times', async (test) => {
  test.match(await sending([lost, () => answer(200)]), { status: 200 })
  test.same(await sending([lost, lost], { tries_max: 2 }), { status: 'TypeError: lost', sent: 2 })
  test.match(await sending([lost], { mayRepeat: () => false }), { status: 'TypeError: lost' })
  const busy = Array.from({ length: 3 }, () => () => answer(429, '0'))
  test.same(await sending(busy, { wait_s_max: 0.6 }), { status: 429, sent: 3 }, 'a quarter of a second is the shortest')
  const mixed = [() => answer(503, '0'), lost, () => answer(503, '0'), () => answer(200)]
  test.same(
    await sending(mixed, { tries_max: 2 }),
    { status: 200, sent: 4 },
    'an answered request is no failed attempt',
  )
})

t.test('a pause ends early', async (test) => {
  const ending = new AbortController()
  const waiting = pause(60_000, ending.signal)
  ending.abort(new Error('enough'))
  await test.rejects(waiting, /enough/)
  await test.rejects(pause(1, ending.signal), /enough/)
  await pause(1)
})
