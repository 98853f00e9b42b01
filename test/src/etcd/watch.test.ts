import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { errorOf } from '../../fixtures/etcd-error.ts'
import { untilHolds } from '../../fixtures/until.ts'
import { EtcdClient } from '../../../src/etcd/client.ts'
import type { Gateways } from '../../../src/etcd/gateways.ts'
import { openWatch, type Watch, type WatchReport } from '../../../src/etcd/watch.ts'
import { CREDENTIALS, etcdGateway, type Handler } from '../../simulators/etcd-gateway.ts'

const line = (result: unknown) => `${JSON.stringify({ result })}\n`
const CREATED = line({ header: { revision: '9' }, created: true })
const event = (key: string, revision: number, more = {}) => ({
  kv: { key: Buffer.from(key).toString('base64'), mod_revision: `${revision}` },
  ...more,
})
const events = (...all: readonly unknown[]) => line({ header: { revision: '99' }, events: all })

async function watching(test: Test, handler: Handler) {
  const server = await etcdGateway(test, handler)
  const client = new EtcdClient({ gateways: [server.url], credentials: CREDENTIALS, timeout_ms: 300_000 })
  test.teardown(() => client.close())
  return { ...server, client, watch: await client.watch({ prefix: 'a' }, { from: 5 }) }
}

const writes =
  (...pieces: readonly (string | Uint8Array)[]): Handler =>
  (response) => {
    for (const piece of pieces) response.write(piece)
    response.end()
  }

/** Returns the events of a watch, and the kind of its end. */
async function told(watch: Watch) {
  const reports: WatchReport[] = []
  try {
    for await (const report of watch) reports.push(report)
    return { reports, end: 'closed' }
  } catch (error) {
    return { reports, end: error }
  }
}

/** A stream of these pieces, without a network. */
function pretended(pieces: readonly Uint8Array[]): Gateways {
  const open: Gateways['open'] = async (_, begin) => await begin(Readable.from(pieces) as IncomingMessage, 'nowhere')
  return { open } as Gateways
}

t.test('events, progress and the end', async (test) => {
  const { watch, asked, url } = await watching(
    test,
    writes(CREATED, events(event('a1', 5), event('a2', 6, { type: 'DELETE' })), line({ header: { revision: '8' } })),
  )
  test.match(asked[0], {
    path: '/v3/watch',
    fields: {
      create_request: { key: 'YQ==', range_end: 'Yg==', start_revision: 5, progress_notify: true, fragment: true },
    },
    headers: { 'grpc-metadata-hasleader': 'true' },
  })
  test.equal(watch.revision, 9)
  test.equal(`https://${watch.address}`, url)
  const { reports, end } = await told(watch)
  test.match(reports, [
    {
      kind: 'events',
      revision: 6,
      events: [
        { kind: 'put', kv: { key: Buffer.from('a1'), modRevision: 5 } },
        { kind: 'delete', kv: { key: Buffer.from('a2'), modRevision: 6 } },
      ],
    },
    { kind: 'progress', revision: 8 },
  ])
  test.match(end, { kind: 'unreachable', message: 'it ended the watch' })
})

t.test('wherever its pieces end', async () => {
  const reason = 'ended: größer als €'
  const whole = Buffer.from(
    `${CREATED}${events(event('aä', 5))}${events(event('a€', 6))}${line({ canceled: true, cancel_reason: reason })}`,
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(whole.length), { maxLength: 12 }), async (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), whole.length]
      const pieces = places.slice(1).map((end, index) => whole.subarray(places[index], end))
      const watch = await openWatch(pretended(pieces), { prefix: 'a' }, {})
      const { reports, end } = await told(watch)
      const keys = reports.flatMap((report) => (report.kind === 'events' ? report.events : [])).map(({ kv }) => kv.key)
      return Buffer.concat(keys).toString() === 'aäa€' && String(end).includes('refuses')
    }),
  )
})

t.test('a revision is reported whole, although it arrives in fragments', async (test) => {
  const fragment = (...all: readonly unknown[]) => line({ header: { revision: '9' }, fragment: true, events: all })
  const { watch } = await watching(
    test,
    writes(
      CREATED,
      fragment(event('a', 5), event('b', 6)),
      fragment(event('c', 6)),
      events(event('d', 6), event('e', 7)),
      line({ header: { revision: '8' } }),
    ),
  )
  const { reports } = await told(watch)
  const shown = reports.map((report) =>
    report.kind === 'events'
      ? [report.revision, report.events.map(({ kv }) => Buffer.from(kv.key).toString()).join('')]
      : report.revision,
  )
  test.same(shown, [[5, 'a'], [7, 'bcde'], 8])
})

t.test('reasons for the end of a watch', async (test) => {
  const compacted = line({ canceled: true, compact_revision: '77' })
  const cases = [
    [compacted, { kind: 'compacted', facts: { compactRevision: 77 } }],
    [line({ canceled: true, cancel_reason: 'etcdserver: permission denied' }), { kind: 'refused' }],
    [line({ canceled: true }), { kind: 'refused' }],
    ['{"error":{"code":14,"message":"etcdserver: no leader"}}\n', { kind: 'no-leader' }],
    ['nonsense\n', { kind: 'unreadable' }],
    [events({ kv: { mod_revision: 'x' } }), { kind: 'unreadable' }],
    ['{"result":', { kind: 'unreachable' }],
  ] as const
  for (const [last, wanted] of cases) {
    const { watch } = await watching(test, writes(CREATED, last))
    test.match((await told(watch)).end, wanted, last)
  }
  const { watch } = await watching(test, (response) => {
    response.write(CREATED, () => response.socket?.destroy())
  })
  test.match((await told(watch)).end, { kind: 'unreachable' })
})

t.test('a watch that never begins', async (test) => {
  const future = line({
    created: true,
    canceled: true,
    cancel_reason: 'etcdserver: mvcc: required revision has been compacted',
  })
  test.match(await errorOf(watching(test, writes(future))), { kind: 'compacted' })
  test.match(await errorOf(watching(test, writes(''))), {
    kind: 'unreachable',
    message: 'it ended the watch immediately',
  })
  const { url } = await etcdGateway(test, (response) => response.write('{'))
  const client = new EtcdClient({ gateways: [url], credentials: CREDENTIALS, timeout_ms: 100 })
  test.teardown(() => client.close())
  test.match(await errorOf(client.watch({ key: 'a' })), { kind: /^(timeout|unreachable)$/ })
})

t.test('it is closed at once, while the next event is awaited', async (test) => {
  const { watch, sockets } = await watching(test, (response) => response.write(CREATED))
  const all = told(watch)
  await new Promise(setImmediate)
  watch.close()
  test.same(await all, { reports: [], end: 'closed' })
  await untilHolds(() => sockets.size === 0)
})

t.test('it is closed when the caller stops reading', async (test) => {
  const { watch, sockets } = await watching(test, writes(CREATED, events(event('a', 5)), events(event('b', 6))))
  for await (const report of watch) {
    test.equal(report.revision, 5)
    break
  }
  await untilHolds(() => sockets.size === 0)
})

t.test('a caller that stops reading makes etcd wait', async (test) => {
  const many = events(event('a'.repeat(60_000), 5))
  let given: ServerResponse | undefined
  let written = 0
  const { watch } = await watching(test, (response) => {
    given = response
    response.write(CREATED)
    const fill = () => {
      while (response.write(many)) written += 1
    }
    response.on('drain', fill)
    fill()
  })
  for await (const report of watch) {
    test.equal(report.kind, 'events')
    break
  }
  // A hundred times as much would not be held back for ever.
  await untilHolds(() => given?.closed !== false)
  test.ok(written < 10_000, `${written}`)
})

t.test('the client is closed: its watches end', async (test) => {
  const { watch, client } = await watching(test, (response) => response.write(CREATED))
  const all = told(watch)
  client.close()
  test.match((await all).end, { kind: 'unreachable' })
})
