import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Answer } from '../../../src/http/envelope.ts'
import { LongAnswers } from '../../../src/http/long-answers.ts'
import type { Incoming } from '../../../src/http/incoming.ts'
import { LONG_ANSWERS_EACH_MAX, LONG_ANSWERS_MAX } from '../../../src/http/sending.ts'
import { listen, requestIds } from '../../../src/http/server.ts'
import { slowClient } from '../../fixtures/slow-client.ts'
import { until, untilHolds } from '../../fixtures/until.ts'

const SLICE = 64 * 1_024
const SLICES = 200
const LARGE = 128 * 1_024
const whole = { status: 200, contentType: 'text/plain', body: '', headers: {} }
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`

/** Answers in slices of one letter each, from one buffer that is reused for each, like real ones. */
async function fixture(test: Test) {
  const shared = Buffer.alloc(SLICE)
  const seen = { made: 0, open: 0, pings: 0 }
  const slices = function* (count: number, reason: string | undefined) {
    seen.open++
    try {
      for (let i = 0; i < count; i++) {
        seen.made++
        yield i % 10 === 0 ? shared.subarray(0, 0) : shared.fill(97 + (i % 26))
      }
      return reason
    } finally {
      seen.open--
    }
  }
  const handle = ({ path, query }: Incoming): Answer => {
    if (path === '/long') return { ...whole, slices: () => slices(SLICES, undefined), holder: query }
    if (path === '/broken') return { ...whole, slices: () => slices(3, 'the clock was set back') }
    if (path === '/large') return { ...whole, body: Buffer.alloc(LARGE * 40, 'x') }
    seen.pings++
    return { ...whole, body: 'pong' }
  }
  const listener = await listen({ host: '127.0.0.1', port: 0 }, undefined, handle, requestIds('long'))
  test.teardown(() => listener.close())
  const url = (path: string) => `http://127.0.0.1:${listener.port}${path}`
  const open = async (path: string) => {
    const socket = connect(listener.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => undefined)
    socket.write(GET(path))
    return socket
  }
  return { seen, url, open }
}

/** Waits until the count stays the same for a while: all work has stopped. */
const settled = (count: () => number): Promise<number> =>
  until(
    'a count that rests',
    () => wait(100, count()),
    (before) => before > 0 && before === count(),
  )

function expected(): string {
  const parts = Array.from({ length: SLICES }, (_, i) => (i % 10 === 0 ? '' : String.fromCharCode(97 + (i % 26))))
  return parts.map((letter) => letter.repeat(SLICE)).join('')
}

t.test('a long answer arrives whole, and the connection stays open', async (test) => {
  const { url } = await fixture(test)
  const answers = await Promise.all(Array.from({ length: 5 }, async () => (await fetch(url('/long'))).text()))
  for (const text of answers) test.ok(text === expected(), 'the same bytes')
  test.equal(await (await fetch(url('/ping'))).text(), 'pong')
})

t.test('of a large slice only as much is written as the client reads, and none is made before', async (test) => {
  const { client, response } = slowClient()
  const slice = Buffer.alloc(1_000_000, 'x')
  let made = 0
  let isEnded = false
  const slices = (function* () {
    for (; made < 2; made++) yield slice
    return undefined
  })()
  new LongAnswers().send(response, slices, () => (isEnded = true))
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const bytes = () => client.written.join('').length
  await turn()
  const part = bytes()
  test.ok(part > 0 && part < 16_384)
  // The next answer overwrites it.
  slice.fill('y')
  for (let count = 2; count < 20; count++) {
    client.takes()
    await turn()
    test.equal(bytes(), count * part)
  }
  test.same([made, isEnded, client.end], [0, false, undefined])
  client.isTaking = true
  client.takes()
  while (client.end === undefined) await turn()
  test.same([made, isEnded, client.end, bytes()], [2, true, 'end', 2_000_000])
  test.equal(client.written.join('').indexOf('y'), 1_000_000)
})

t.test('HEAD has no body and does not begin to make one', async (test) => {
  const { url, seen } = await fixture(test)
  const answer = await fetch(url('/long'), { method: 'HEAD' })
  test.equal(await answer.text(), '')
  test.equal(answer.status, 200)
  test.equal(seen.made, 0)
})

t.test('for a client that does not read, no more is made than sockets hold; others are served', async (test) => {
  const { url, open, seen } = await fixture(test)
  const socket = await open('/long')
  socket.pause()
  const made = await settled(() => seen.made)
  test.ok(made < SLICES, `${made} of ${SLICES} slices were made`)
  test.ok((await (await fetch(url('/long'))).text()) === expected())
  test.equal(seen.made, made + SLICES, 'nothing was made for the waiting client')
  socket.resume()
  await untilHolds(() => seen.open === 0)
  test.equal(seen.made, 2 * SLICES)
  socket.destroy()
})

t.test('a client that leaves frees its place; one user cannot have all of them', async (test) => {
  const { url, open, seen } = await fixture(test)
  const sockets: Socket[] = []
  const hold = async (user: number) => {
    const socket = await open(`/long?${user}`)
    socket.pause()
    sockets.push(socket)
  }
  for (let i = 0; i < LONG_ANSWERS_EACH_MAX; i++) await hold(0)
  await untilHolds(() => seen.open === LONG_ANSWERS_EACH_MAX)
  const own = await fetch(url('/long?0'))
  test.equal(own.status, 429)
  test.match(await own.json(), { code: 'TOO_MANY_AT_ONCE', message: /of yours/ })
  test.equal((await (await fetch(url('/long?1'))).text()).length, expected().length, 'another user has places')
  for (let i = LONG_ANSWERS_EACH_MAX; i < LONG_ANSWERS_MAX; i++) await hold(Math.floor(i / LONG_ANSWERS_EACH_MAX))
  await untilHolds(() => seen.open === LONG_ANSWERS_MAX)
  const refused = await fetch(url('/long?9'))
  test.equal(refused.status, 429)
  test.equal(refused.headers.get('retry-after'), '1')
  test.match(await refused.json(), { status: 'error', code: 'TOO_MANY_AT_ONCE', message: /for all users/ })
  test.equal(await (await fetch(url('/ping'))).text(), 'pong', 'short ones are answered')
  for (const socket of sockets) socket.destroy()
  const asked = async () => {
    const answer = await fetch(url('/long?9'))
    const text = await answer.text()
    return answer.status !== 429 && text
  }
  test.ok((await until('a place', asked)) === expected())
})

t.test('an answer that cannot be completed is cut short: no client takes it for the whole', async (test) => {
  const { url } = await fixture(test)
  await test.rejects(fetch(url('/broken')).then((answer) => answer.text()))
  test.equal(await (await fetch(url('/ping'))).text(), 'pong')
})

t.test('short answers are sent between the slices', async (test) => {
  const { url, open, seen } = await fixture(test)
  const socket = await open('/long')
  socket.resume()
  await untilHolds(() => seen.made > 0)
  test.equal(await (await fetch(url('/ping'))).text(), 'pong')
  test.ok(seen.made < SLICES, 'before the long one has ended')
  socket.destroy()
})

t.test('a large body is sent as fast as the client reads it', async (test) => {
  const { url, open } = await fixture(test)
  const slow = await open('/large')
  slow.pause()
  await wait(50)
  const answer = await fetch(url('/large'))
  test.equal(answer.headers.get('content-length'), String(LARGE * 40))
  test.ok((await answer.text()) === 'x'.repeat(LARGE * 40))
  let bytes = 0
  slow.on('data', (chunk) => (bytes += chunk.length))
  slow.resume()
  await untilHolds(() => bytes > LARGE * 40)
  const gone = await open('/large')
  gone.destroy()
  slow.destroy()
  test.equal(await (await fetch(url('/ping'))).text(), 'pong')
})
