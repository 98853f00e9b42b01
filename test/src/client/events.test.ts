import t from 'tap'
import { follow, type StreamEvent } from '../../../src/client/events.ts'

const HEADERS = { 'content-type': 'text/event-stream' }
/** A stream that ends, or breaks off, after these pieces. */
function stream(pieces: readonly string[], error?: Error): Response {
  const encoder = new TextEncoder()
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = pieces[at++]
      if (next !== undefined) controller.enqueue(encoder.encode(next))
      else if (error === undefined) controller.close()
      else controller.error(error)
    },
  })
  return new Response(body, { headers: HEADERS })
}

/** Returns the first `count` events of these answers, and the requests. */
async function told(answers: readonly (() => Response)[], count: number) {
  const ending = new AbortController()
  const asked: (string | undefined)[] = []
  const events: StreamEvent[] = []
  const open = async (last: string | undefined): Promise<Response> => {
    asked.push(last)
    const next = answers[asked.length - 1]
    if (next === undefined) throw new Error('opened once too often')
    return next()
  }
  for await (const event of follow(open, ending.signal)) {
    events.push(event)
    if (events.length === count) ending.abort()
  }
  return { asked, events }
}

t.test('events are parsed with their fields, however they are cut', async (test) => {
  const text =
    'retry: 1\n\n: \n\nid: 7\nevent: apply\ndata: {"a":\ndata: 1}\n\ndata: plain\n\nid: 8\r\ndata: [\r\ndata: 2]\r\n\r\n'
  for (const size of [1, 7, 1000]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    )
    const { events } = await told([() => stream(pieces)], 3)
    test.same(events, [
      { id: '7', event: 'apply', data: { a: 1 } },
      { id: '', event: 'message', data: 'plain' },
      { id: '8', event: 'message', data: [2] },
    ])
  }
})

t.test('a stream that ends, breaks off or is refused for now is reopened, after the last event', async (test) => {
  const busy = JSON.stringify({ code: 'NO_QUORUM', message: 'm' })
  const { asked, events } = await told(
    [
      () => stream(['retry: 1\n\nid: 3\ndata: 1\n\n'], new TypeError('terminated')),
      () => {
        throw new TypeError('fetch failed')
      },
      () => new Response(busy, { status: 503 }),
      () => stream(['id: 4\ndata: 2\n\nid: 5\nda']),
      () => stream(['id: 5\ndata: 3\n\n']),
    ],
    3,
  )
  test.same(asked, [undefined, '3', '3', '3', '4'])
  test.same(
    events.map(({ data }) => data),
    [1, 2, 3],
  )
})

t.test('errors that a retry would meet as well are thrown', async (test) => {
  const refused = () => new Response(JSON.stringify({ code: 'PERMISSION_DENIED', message: 'm' }), { status: 403 })
  await test.rejects(told([refused], 1), { code: 'PERMISSION_DENIED' })
  await test.rejects(told([() => new Response('{}')], 1), { name: 'Foreign' })
})

t.test('a block of megabytes is assembled from its pieces, wherever they are cut', async (test) => {
  const data = JSON.stringify({ text: 'x'.repeat(1_000_000) })
  const text = `retry: 1\r\n\r\nid: 1\r\ndata: ${data}\r\n\r\ndata: 2\n\n`
  for (const size of [3, 65_536]) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    const { events } = await told([() => stream(pieces)], 2)
    test.equal(JSON.stringify(events[0]?.data), data)
    test.match(events, [{ id: '1' }, { data: 2 }])
  }
})

t.test('arriving data are reported, also for a stream that only keeps its connection', async (test) => {
  const ending = new AbortController()
  const heard: string[] = []
  const answers = [() => stream([': \n\n', 'retry: 1\n\n']), () => stream(['data: 1\n\n'])]
  const open = async () => answers.shift()?.() ?? new Response('{}')
  for await (const event of follow(open, ending.signal, { onState: (state) => void heard.push(state) })) {
    heard.push(String(event.data))
    ending.abort()
  }
  test.same(heard, ['live', 'live', 'waiting', 'live', '1'])
})

t.test('a client can follow for ever: then no error is final', async (test) => {
  const ending = new AbortController()
  const answers = [
    () => stream(['retry: 1\n\n']),
    () => new Response('{}', { status: 401 }),
    () => stream(['data: 1\n\n']),
  ]
  const open = async () => answers.shift()?.() ?? new Response('{}')
  for await (const { data } of follow(open, ending.signal, { isFinal: () => false })) {
    test.equal(data, 1)
    ending.abort()
  }
  test.same(answers, [])
})

t.test('an abort ends it, also while it waits', async (test) => {
  const ending = new AbortController()
  const open = async () => {
    setImmediate(() => ending.abort())
    return stream(['retry: 100000\n\n'])
  }
  for await (const event of follow(open, ending.signal)) test.fail(JSON.stringify(event))
  test.ok(ending.signal.aborted)
})
