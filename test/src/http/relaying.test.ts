import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { App } from 'uWebSockets.js'
import { freePlace, openSocket } from '../../../src/http/listening.ts'
import { relayWhole } from '../../../src/http/relaying.ts'

/** Answers with the data of `source`, and announces this length. */
async function relayed(
  test: Test,
  source: () => Readable,
  total: number,
  ended = () => undefined as void,
): Promise<IncomingMessage> {
  const place = await freePlace({ host: '127.0.0.1', port: 0 })
  const app = App().any('/*', (response) => {
    response.onAborted(() => undefined)
    relayWhole(response, source(), total, ended)
  })
  await openSocket(app, place)
  test.teardown(() => app.close())
  const [answer] = await once(request({ ...place, agent: false }).end(), 'response')
  return answer
}

t.test('an answer is sent as fast as it is read, and announces its length', async (test) => {
  // More than sockets hold without a reader: 4 MiB at the sender, and little at the receiver.
  const bytes = Buffer.alloc(16_000_000, Buffer.from(Array.from({ length: 251 }, (_, at) => at)))
  const pieces = () => Array.from({ length: 160 }, (_, at) => bytes.subarray(at * 100_000, (at + 1) * 100_000))
  let hasEnded = false
  const answer = await relayed(
    test,
    () => Readable.from(pieces()),
    bytes.length,
    () => (hasEnded = true),
  )
  test.notOk(hasEnded)
  test.equal(answer.headers['content-length'], '16000000')
  const taken: Buffer[] = []
  for await (const piece of answer as AsyncIterable<Buffer>) {
    taken.push(piece)
    if (taken.length % 16 === 0) await wait(5)
  }
  test.ok(Buffer.concat(taken).equals(bytes))
  test.ok(hasEnded)
})

t.test('no client takes a part for the whole', async (test) => {
  const half = function* () {
    yield Buffer.alloc(1_000)
    throw new Error('gone')
  }
  for (const source of [() => Readable.from([Buffer.alloc(1_000)]), () => Readable.from(half())]) {
    const whole = relayed(test, source, 2_000).then((answer) => answer.toArray())
    await test.rejects(whole, { code: 'ECONNRESET' })
  }
})
