import t from 'tap'
import { FigureFrames, type FrameSource } from '../../../src/stats/figure-frames.ts'
import { ascii, JsonBuffer } from '../../../src/stats/json-buffer.ts'
import type { LiveElement } from '../../../src/stats/live-plan.ts'

type Values = Readonly<Record<string, unknown>>

const element = (kind: LiveElement['kind'], id: string): LiveElement => ({ id, kind, rowKey: id, head: ascii('') })

/** Objects that are what they are told to be. */
function fixture() {
  const state = { version: 1, problem: undefined as string | undefined, values: {} as Record<string, Values> }
  const source: FrameSource = {
    get version() {
      return state.version
    },
    get problem() {
      return state.problem
    },
    objects: () => ({
      frontends: [element('frontend', 'f')],
      backends: [element('backend', 'b')],
      reals: [element('server', 'r1'), element('server', 'r2')],
    }),
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

t.test('everything, then what has changed since any moment', async (test) => {
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

t.test('time that passes by itself is told when it begins anew', async (test) => {
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

t.test('only what is wanted; all anew when the objects are others; problems', async (test) => {
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
