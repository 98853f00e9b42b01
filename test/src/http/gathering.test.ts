import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { gatherLists } from '../../../src/http/gathering.ts'
import { PeerError } from '../../../src/peers/peer-error.ts'
import { Doings, pipelineOf, twoNodes, urlOf } from '../../fixtures/forwarding.ts'
import { untilHolds } from '../../fixtures/until.ts'

const ANN = { headers: { authorization: 'Bearer ann' } }
const at = (second: number) => ({ at: `2026-01-01T00:00:0${second}.000Z` })

async function lists(test: Test) {
  const nodes = await twoNodes(test)
  nodes.near.entries = [at(5), at(3), at(1)]
  nodes.far.entries = [at(4), at(3), at(2)]
  const read = async (query: string) => {
    const answer = await fetch(`${nodes.url}/list${query}`, ANN)
    return Object.assign(Object(await answer.json()), { status: answer.status })
  }
  return { ...nodes, read }
}

t.test('the lists of all nodes are one, newest first, and of the requested length', async (test) => {
  const { read, far } = await lists(test)
  const first = { status: 200, message: 'ok', nodes: ['lb1', 'lb2'], missing: [] }
  const [five, four, three] = [
    { nodeId: 'lb1', ...at(5) },
    { nodeId: 'lb2', ...at(4) },
    { nodeId: 'lb1', ...at(3) },
  ]
  test.match(await read('?node=all'), { ...first, data: [five, four, three] })
  test.same((await read('?limit=2&n%6fde=all')).data, [five, four])
  const whole = (await read('?node=all&limit=10')).data
  test.same(whole.slice(3), [
    { nodeId: 'lb2', ...at(3) },
    { nodeId: 'lb2', ...at(2) },
    { nodeId: 'lb1', ...at(1) },
  ])
  test.same(far.asked, ['session-1 127.0.0.1', 'session-1 127.0.0.1', 'session-1 127.0.0.1'])
})

t.test('without it this node answers as before, and with its id each of them', async (test) => {
  const { read, far } = await lists(test)
  for (const query of ['', '?limit=3', '?node=lb1']) test.same((await read(query)).data, [at(5), at(3), at(1)])
  test.equal(far.asked.length, 0)
  test.same((await read('?node=lb2')).data, [at(4), at(3), at(2)])
})

t.test('an invalid request is refused before any node is asked', async (test) => {
  const { read, url, far } = await lists(test)
  test.match(await read('?node=lb3'), { status: 404, code: 'NOT_FOUND' })
  test.match(await read('?node='), { status: 422, code: 'INVALID_QUERY', errors: [{ field: 'node' }] })
  test.match(await read('?node=all&before=3'), { status: 422, code: 'INVALID_QUERY', errors: [{ field: 'before' }] })
  test.match(await read('?node=all&limit=x'), { status: 422, code: 'INVALID_QUERY', errors: [{ field: 'limit' }] })
  const after = { headers: { ...ANN.headers, 'last-event-id': '3' } }
  for (const [query, init] of [
    ['&after=1', ANN],
    ['', after],
  ] as const)
    test.equal((await fetch(`${url}/follow?node=all${query}`, init)).status, 422)
  test.same(far.asked, [])
})

t.test('a node that refuses, or is not reached, is listed as missing with its reason', async (test) => {
  const { read, far, client, line } = await lists(test)
  far.users.clear()
  const own = { data: [{ nodeId: 'lb1', ...at(5) }, {}, {}], nodes: ['lb1'] }
  test.match(await read('?node=all'), { ...own, missing: [{ nodeId: 'lb2', why: 'gone' }] })
  client.close()
  line.cut()
  test.match(await read('?node=all'), { ...own, missing: [{ nodeId: 'lb2', why: String }] })
  test.match(await read('?node=lb2'), { status: 503, code: 'NODE_UNREACHABLE' })
})

t.test('no node asks all others on behalf of another, and a single node is all of them', async (test) => {
  const doings = new Doings()
  doings.entries = [at(1)]
  const pipeline = pipelineOf('lb2', doings)
  const who = { userId: 'ann', email: 'ann@localhost', sessionId: 's', address: '192.0.2.9' }
  const request = { method: 'GET', path: '/api/v1/list', query: 'node=all', headers: {}, requestId: 'r', who }
  const signal = new AbortController().signal
  test.match(await pipeline.handleForwarded({ ...request, signal } as never), { status: 404 })
  const answer = await fetch(`${await urlOf(test, pipeline)}/list?node=all`, ANN)
  test.match(await answer.json(), { data: [{ nodeId: 'lb2', ...at(1) }], nodes: ['lb2'], missing: [] })
})

t.test('no entry is older than the end of a truncated list', async (test) => {
  const long = 'x'.repeat(300 * 1024)
  const body = JSON.stringify({
    message: 'm',
    data: [
      { ...at(9), long },
      { ...at(5), long },
    ],
  })
  const own = { status: 200, contentType: 'application/json', headers: {}, body }
  const other = Buffer.from(JSON.stringify({ data: [at(7), at(4)] }))
  const list = { time: 'at', limit: { parameter: 'limit', usual: 9 } }
  const ask = async (nodeId: string) => {
    if (nodeId === 'd') throw new TypeError('not told')
    if (nodeId === 'c') throw new PeerError('busy', 'Too many')
    return { status: 200, headers: {}, body: Readable.from([other], { objectMode: false }) }
  }
  const merged = await gatherLists({ nodeId: 'a', own, others: ['b', 'c', 'd'], ask }, list, {})
  const { data, missing } = JSON.parse(String(merged.body))
  test.match(data, [at(9), { nodeId: 'b', ...at(7) }, at(5)])
  test.equal(data.length, 3)
  test.same(missing, [
    { nodeId: 'c', why: 'Too many' },
    { nodeId: 'd', why: 'Its answer does not match this version' },
  ])
  const whole = await gatherLists({ nodeId: 'a', own, others: ['b'], ask }, { time: 'at' }, {})
  test.equal(JSON.parse(String(whole.body)).data.length, 4, 'a list without a limit is not truncated')
})

t.test('events of all nodes have their node and no numbers; a lost node is reported', async (test) => {
  const { url, near, far, line } = await twoNodes(test)
  const leaving = new AbortController()
  const answer = await fetch(`${url}/follow?node=all`, { ...ANN, signal: leaving.signal })
  let text = ''
  answer.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeTo(new WritableStream({ write: (piece) => void (text += piece) }))
    .catch(() => undefined)
  await untilHolds(() => far.sinks.length === 1 && near.sinks.length === 1)
  near.sinks[0]?.write('id: 7\nevent: node\ndata: {"at":"x"}\n\n')
  far.sinks[0]?.write('id: 3\nevent: job\nda')
  far.sinks[0]?.write('ta: {"at":"y"}\n\n')
  await untilHolds(() => text.includes('"y"'))
  test.match(text, 'event: node\ndata: {"toldBy":"lb1","at":"x"}\n\n')
  test.match(text, 'event: job\ndata: {"toldBy":"lb2","at":"y"}\n\n')
  test.notMatch(text, 'id: ')
  line.cut()
  await untilHolds(() => text.includes('event: missing'))
  test.match(text, /event: missing\ndata: {"nodeId":"lb2","why":"[^"]+"}\n\n/)
  near.sinks[0]?.write('event: node\ndata: {"at":"z"}\n\n')
  await untilHolds(() => text.includes('"z"'))
  leaving.abort()
  await untilHolds(() => near.stopped === 1 && far.stopped === 1)
})
