import t from 'tap'
import { defer } from '../../../src/base/deferred.ts'
import { turn } from '../../../src/base/turns.ts'
import type { FrameSource } from '../../../src/stats/figure-frames.ts'
import { FigureStreams } from '../../../src/stats/figure-streams.ts'
import { ascii } from '../../../src/base/json-buffer.ts'

function fixture() {
  const state = { count: 0, version: 1, looks: 0 }
  let tick = defer()
  const nothing: FrameSource = {
    version: 1,
    problem: undefined,
    objects: () => ({ frontends: [], backends: [], reals: [] }),
    has: () => false,
    put: () => undefined,
  }
  const layer7: FrameSource = {
    ...nothing,
    get version() {
      return state.version
    },
    objects: (wanted) => ({
      frontends: ['f', 'g']
        .filter((id) => wanted?.has(id) ?? true)
        .map((id) => ({ id, kind: 'frontend', rowKey: id, head: ascii('') })),
      backends: [],
      reals: [],
    }),
    has: (id) => id === 'f' || id === 'g',
    put({ id }, out) {
      state.looks++
      out.text(`{"id":"${id}","count":${state.count}`)
    },
  }
  const streams = new FigureStreams({ layer7, layer4: nothing, nextTick: () => tick.promise })
  const next = async (count: number) => {
    state.count = count
    const { resolve } = tick
    tick = defer()
    resolve()
    for (let i = 0; i < 8; i++) await turn()
  }
  const client = (ids: readonly string[], lastId = '', userId = 'u') => {
    const told: string[] = []
    const sink = {
      isBehind: false,
      isEnded: false,
      write: (text: string | Uint8Array) => void told.push(Buffer.from(text).toString()),
      end() {
        sink.isEnded = true
      },
    }
    const stop = streams.stream(ids, lastId, userId)(sink)
    const events = () =>
      told.slice(1).map((text) => {
        const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)\n\n$/.exec(text) ?? []
        return { id, event, data: JSON.parse(data) }
      })
    return { sink, stop, events, told }
  }
  return { state, streams, next, client }
}

const WHOLE = (count: number) => ({
  layer7: {
    problem: null,
    frontends: [
      { id: 'f', count },
      { id: 'g', count },
    ],
  },
  layer4: { problem: null },
})

t.test('all first, then the changes, made once for all streams of the same objects', async (test) => {
  const { state, client, next, streams } = fixture()
  const [one, two, other] = [client([]), client([]), client(['g'])]
  test.match(one.told[0], /^retry: \d+\n\n$/)
  test.match(one.events(), [{ event: 'figures', data: WHOLE(0) }])
  state.looks = 0
  await next(0)
  test.equal(state.looks, 3, 'two objects for streams of everything, one for the other')
  test.strictSame(one.events().slice(1), [{ ...one.events()[1], event: 'changed', data: {} }], 'they are unchanged')
  await next(7)
  const changed = {
    layer7: {
      frontends: [
        { id: 'f', count: 7 },
        { id: 'g', count: 7 },
      ],
    },
  }
  test.match(one.events().at(-1), { event: 'changed', data: changed })
  test.strictSame(one.events(), two.events())
  test.strictSame(other.events().at(-1)?.data, { layer7: { frontends: [{ id: 'g', count: 7 }] } })
  test.equal(streams.sets, 2)
  for (const { stop } of [one, two, other]) stop()
})

t.test('a client that is behind gets nothing until it has read everything, and then what it missed', async (test) => {
  const { client, next } = fixture()
  const slow = client(['f'])
  slow.sink.isBehind = true
  for (let second = 1; second < 50; second++) await next(second)
  test.equal(slow.events().length, 1, 'nothing piles up')
  slow.sink.isBehind = false
  await next(50)
  test.strictSame(slow.events().at(-1)?.data, { layer7: { frontends: [{ id: 'f', count: 50 }] } })
  slow.stop()
})

t.test('a client that comes back with the id of its last event gets the changes since then', async (test) => {
  const { client, next, state } = fixture()
  const first = client(['f'])
  await next(1)
  const id = first.events().at(-1)?.id ?? ''
  first.stop()
  const back = client(['f'], id)
  await next(2)
  test.match(back.events(), [{ event: 'changed', data: { layer7: { frontends: [{ id: 'f', count: 2 }] } } }])
  for (const strange of ['', '7', `${id}9`, 'nonsense', id.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))])
    test.equal(client(['f'], strange).events()[0]?.event, 'figures', strange)
  state.version = 2
  await next(3)
  test.equal(back.events().at(-1)?.event, 'figures', 'the objects are others')
  test.equal(client(['f'], id).events()[0]?.event, 'figures')
})

t.test('different sets have a limit, streams of the same set have none here', async (test) => {
  const { client, streams } = fixture()
  for (let n = 0; n < 100; n++) client(['f'], '', 'one')
  test.equal(streams.sets, 1)
  for (let n = 1; n < 32; n++) client([`x${n}`], '', 'one')
  test.throws(() => streams.stream(['more'], '', 'one'), { code: 'TOO_MANY_AT_ONCE' })
  test.doesNotThrow(() => streams.stream(['f'], '', 'one'), 'the set it already follows')
  const other = client(['more'], '', 'two')
  other.stop()
  other.stop()
  streams.close()
})

t.test('a client that changes its set repeatedly leaves few behind', (test) => {
  const { streams, client } = fixture()
  for (let at = 0; at < 1_000; at++) client([`id-${at}`]).stop()
  test.ok(streams.sets <= 256, `${streams.sets} sets`)
  const { events } = client(['f'])
  test.match(events(), [{ event: 'figures' }])
  streams.close()
  test.end()
})

t.test('a place that was lost between the request and its answer ends the stream', async (test) => {
  const { client, streams } = fixture()
  const begun = streams.stream(['late'], '', 'one')
  for (let n = 0; n < 32; n++) client([`x${n}`], '', 'one')
  let isEnded = false
  begun({ write: () => undefined, end: () => void (isEnded = true) })()
  test.ok(isEnded)
  test.equal(streams.has('f'), true)
  test.equal(streams.has('x'), false)
})
