import t, { type Test } from 'tap'
import { Streams, whileAllowed } from '../../../src/http/streams.ts'
import { Unsent } from '../../../src/http/unsent.ts'
import { slowClient } from '../../fixtures/slow-client.ts'
import { untilHolds } from '../../fixtures/until.ts'
import { listen } from '../../../src/http/server.ts'
import type { StreamSink } from '../../../src/context/rendered.ts'

/** A server that answers every request with one stream. */
async function fixture(test: Test) {
  const sinks: StreamSink[] = []
  let stopped = 0
  const stream = (sink: StreamSink) => {
    sinks.push(sink)
    // Nothing is sent before the first write, not even the headers.
    sink.write('begin\n')
    return () => void stopped++
  }
  const handle = () => ({ status: 200, contentType: 'text/event-stream', body: '', headers: {}, stream })
  const listener = await listen({ host: '127.0.0.1', port: 0 }, undefined, handle, () => 'r')
  test.teardown(() => listener.close())
  return { url: `http://127.0.0.1:${listener.port}/`, sinks, stopped: () => stopped }
}

t.test('written data arrives; the stream is stopped when the client leaves, or ends', async (test) => {
  const { url, sinks, stopped } = await fixture(test)
  const abort = new AbortController()
  const answer = await fetch(url, { signal: abort.signal })
  const reader = answer.body?.getReader()
  test.equal(Buffer.from((await reader?.read())?.value ?? '').toString(), 'begin\n')
  sinks[0]?.write('')
  sinks[0]?.write('data: 1\n\n')
  test.equal(Buffer.from((await reader?.read())?.value ?? '').toString(), 'data: 1\n\n')
  abort.abort()
  await untilHolds(() => stopped() === 1)
  sinks[0]?.write('after the end\n')
  const second = await fetch(url)
  sinks[1]?.write('x')
  sinks[1]?.end()
  test.equal(await second.text(), 'begin\nx')
  test.equal(stopped(), 2)
})

t.test('a client that does not read is cut off', async (test) => {
  const { url, sinks, stopped } = await fixture(test)
  const answer = await fetch(url)
  const text = 'x'.repeat(256 * 1024)
  for (let i = 0; i < 200 && stopped() === 0; i++) sinks[0]?.write(text)
  test.equal(stopped(), 1)
  await test.rejects(answer.text())
})

t.test('one piece may exceed the limit of waiting bytes; a client that has not read it is behind', async (test) => {
  const { url, sinks, stopped } = await fixture(test)
  const answer = await fetch(url)
  test.equal(sinks[0]?.isBehind, false)
  const piece = Buffer.alloc(16 * 1024 * 1024, 'x')
  sinks[0]?.write(piece)
  test.equal(sinks[0]?.isBehind, true)
  const reader = answer.body?.getReader()
  let bytes = 0
  while (bytes < 'begin\n'.length + piece.length) bytes += (await reader?.read())?.value?.length ?? Number.NaN
  await untilHolds(() => sinks[0]?.isBehind === false)
  test.equal(stopped(), 0)
})

t.test('a partial write is not a complete one: the rest still counts, and is reported', async (test) => {
  const unsent = new Unsent()
  const { client, response } = slowClient()
  let told: StreamSink | undefined
  let isEnded = false
  const gone = new Streams(unsent).send(
    response,
    (sink) => {
      told = sink
      return () => undefined
    },
    () => (isEnded = true),
  )
  const event = `data: ${'x'.repeat(1_000_000)}\n\n`
  for (let count = 1; count <= 4; count++) {
    told?.write(event)
    client.takes()
    test.same([told?.isBehind, unsent.bytes], [true, count * event.length])
  }
  client.isTaking = true
  client.takes()
  test.same([told?.isBehind, unsent.bytes, isEnded], [false, 0, false])
  client.isTaking = false
  for (let count = 1; count <= 5; count++) {
    told?.write(event)
    client.takes()
  }
  test.same([isEnded, client.end, unsent.bytes], [true, 'close', 0], 'too much waits')
  gone()
})

t.test('a stream ends with the right that opened it', async (test) => {
  let isAllowed = true
  const written: string[] = []
  let stopped = 0
  const stream = whileAllowed(
    () => () => void stopped++,
    () => isAllowed,
    { every_ms: 5 },
  )
  const stop = stream({ write: (text) => void written.push(String(text)), end: () => void written.push('END') })
  await untilHolds(() => written.length > 1)
  test.same(new Set(written), new Set([': \n\n']), 'a comment keeps it open')
  isAllowed = false
  await untilHolds(() => written.includes('END'))
  stop()
  test.equal(stopped, 1)
})
