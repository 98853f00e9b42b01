import t from 'tap'
import { FigureFrames, type FrameSource } from '../../../src/stats/figure-frames.ts'
import { ascii, JsonBuffer } from '../../../src/base/json-buffer.ts'
import type { LiveElement } from '../../../src/stats/live-plan.ts'

type Values = Readonly<Record<string, unknown>>

const element = (kind: LiveElement['kind'], id: string): LiveElement => ({ id, kind, rowKey: id, head: ascii('') })

/** Objects with given values. */
function fixture() {
  const state = { version: 1, problem: undefined as string | undefined, values: {} as Record<string, Values> }
  const source: FrameSource = {
    get version() {
      return state.version
    },
    get problem() {
      return state.problem
    },
    objects: (wanted) => {
      const of = (kind: LiveElement['kind'], ...ids: readonly string[]) =>
        ids.filter((id) => wanted?.has(id) ?? true).map((id) => element(kind, id))
      return { frontends: of('frontend', 'f'), backends: of('backend', 'b'), reals: of('server', 'r1', 'r2') }
    },
    has: () => true,
    put: ({ id }, out) => out.text(JSON.stringify({ id, ...state.values[id] }).slice(0, -1)),
  }
  return { state, source }
}

function all(frames: FigureFrames): unknown {
  const out = new JsonBuffer()
  frames.writeAll(out)
  return JSON.parse(out.take().toString())
}

function since(frames: FigureFrames, moment: number): unknown {
  const out = new JsonBuffer()
  const hasAny = frames.writeSince(moment, out)
  return hasAny ? JSON.parse(out.take().toString()) : undefined
}

t.test('everything, then the changes since any moment', async (test) => {
  const { state, source } = fixture()
  state.values = { f: { name: 'F', count: 1 }, r1: { backendId: 'b', up: true, count: 5 } }
  const frames = new FigureFrames(source, undefined)
  test.equal(frames.look(1), true)
  test.same(all(frames), {
    problem: null,
    frontends: [{ id: 'f', name: 'F', count: 1 }],
    backends: [{ id: 'b' }],
    reals: [{ id: 'r1', backendId: 'b', up: true, count: 5 }, { id: 'r2' }],
  })
  test.equal(frames.look(2), false)
  test.equal(since(frames, 1), undefined)
  state.values = { f: { name: 'F', count: 22 }, r1: { backendId: 'b', up: true, count: 5 } }
  frames.look(3)
  test.same(since(frames, 2), { frontends: [{ id: 'f', count: 22 }] })
  state.values = { f: { name: 'F', count: 22 }, r1: { backendId: 'b', up: false, count: 55 } }
  frames.look(4)
  test.same(since(frames, 3), { reals: [{ id: 'r1', backendId: 'b', up: false, count: 55 }] })
  test.same(since(frames, 1), {
    frontends: [{ id: 'f', count: 22 }],
    reals: [{ id: 'r1', backendId: 'b', up: false, count: 55 }],
  })
  test.equal(since(frames, 4), undefined)
})

t.test('elapsed time is reported when it restarts', async (test) => {
  const { state, source } = fixture()
  const frames = new FigureFrames(source, undefined)
  const looked = (moment: number, lastChange: number | null) => {
    state.values = { b: { lastChange } }
    frames.look(moment)
    return since(frames, moment - 1)
  }
  looked(1, 5)
  test.equal(looked(2, 6), undefined)
  test.equal(looked(3, 8), undefined)
  test.same(looked(4, 0), { backends: [{ id: 'b', lastChange: 0 }] })
  test.same(looked(5, null), { backends: [{ id: 'b', lastChange: null }] })
  test.same(looked(6, 9), { backends: [{ id: 'b', lastChange: 9 }] })
})

t.test('only the wanted ones; everything again when the objects change; problems', async (test) => {
  const { state, source } = fixture()
  state.problem = 'nobody answers'
  const frames = new FigureFrames(source, new Set(['r2', 'gone']))
  frames.look(1)
  test.equal(frames.size, 1)
  test.same(all(frames), { problem: 'nobody answers', reals: [{ id: 'r2' }] })
  state.problem = undefined
  frames.look(2)
  test.same(since(frames, 1), { problem: null })
  state.version = 2
  test.equal(frames.look(3), true)
})

t.test('unchanged objects are not written again, and stay in place', async (test) => {
  const { state, source } = fixture()
  let written = 0
  let changed: readonly string[] = []
  let sequence = 1
  const comparing: FrameSource = {
    ...source,
    get version() {
      return state.version
    },
    get sequence() {
      return sequence
    },
    since: (before) => (before === sequence - 1 ? ({ id }) => !changed.includes(id) : undefined),
    put(one, out) {
      written += 1
      source.put(one, out)
    },
  }
  const values = (r1: number, r2: number, lastChange: number) => ({
    f: { count: 1 },
    b: { count: 2 },
    r1: { backendId: 'b', count: r1, lastChange },
    r2: { backendId: 'b', count: r2, lastChange },
  })
  state.values = values(1, 1, 10)
  const frames = new FigureFrames(comparing, undefined)
  frames.look(1)
  test.same([written, frames.isFresh], [4, true])
  for (const [moment, one] of [
    [2, 'r1'],
    [3, 'f'],
    [4, 'r2'],
  ] as const) {
    sequence += 1
    changed = [one]
    const next = values(1, 1, 10 + moment)
    state.values = { ...next, [one]: { ...next[one], count: 1_000 + moment } }
    frames.look(moment)
    const [found] = Object.values(since(frames, moment - 1) as object)
    test.match(found, [{ id: one, count: 1_000 + moment }], one)
    changed = []
  }
  test.same([written, frames.isFresh], [7, false])
  sequence += 1
  state.values = values(1, 1, 20)
  test.equal(frames.look(5, true), false)
  test.same([written, frames.isFresh], [11, true])
  test.match(all(frames), {
    reals: [
      { id: 'r1', lastChange: 20 },
      { id: 'r2', lastChange: 20 },
    ],
  })
  sequence += 2
  frames.look(6)
  test.equal(written, 15, 'a second was missed: all are checked')
})
