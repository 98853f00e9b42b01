import t from 'tap'
import { ClockWatch } from '../../../src/membership/clock-watch.ts'
import type { Member } from '../../../src/membership/members.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function watched() {
  const clock = manualClock()
  const told: object[] = []
  const ids = ['a', 'b', 'c']
  const ways: Record<string, { ahead_ms: number; takes_ms: number } | undefined> = {
    b: { ahead_ms: 0, takes_ms: 0 },
    c: { ahead_ms: 0, takes_ms: 0 },
  }
  const asked: string[] = []
  const watch = new ClockWatch({
    self: 'a',
    members: { all: () => ids.map((id) => ({ id, name: `node ${id}` }) as unknown as Member) },
    ask: async (id) => {
      asked.push(id)
      const way = ways[id]
      if (way === undefined) throw new Error('it hangs')
      // It reads its clock at once; its answer takes the time.
      const now_ms = clock.now_ms() + way.ahead_ms
      clock.advance(way.takes_ms)
      return { now_ms }
    },
    tell: (data) => told.push(data),
    clock,
  })
  const look = async () => {
    asked.length = 0
    await watch.look()
    return told.splice(0)
  }
  return { look, ids, ways, asked }
}

t.test('correct clocks are not reported; this node is not asked', async (t) => {
  const { look, ways, asked } = watched()
  t.same(await look(), [])
  t.same(asked, ['b', 'c'])
  ways['b'] = { ahead_ms: 5_000, takes_ms: 0 }
  t.same(await look(), [], 'five seconds are allowed')
})

t.test('a clock that differs is reported once, and once when it is right again', async (t) => {
  const { look, ways } = watched()
  ways['b'] = { ahead_ms: 8_000, takes_ms: 0 }
  ways['c'] = { ahead_ms: -3_600_000, takes_ms: 0 }
  t.same(await look(), [
    {
      state: 'clock apart',
      nodeId: 'b',
      name: 'node b',
      reason: 'Its clock is 8 s ahead of that of this node; check NTP on both',
    },
    {
      state: 'clock apart',
      nodeId: 'c',
      name: 'node c',
      reason: 'Its clock is 3600 s behind that of this node; check NTP on both',
    },
  ])
  t.same(await look(), [])
  ways['b'] = undefined
  t.same(await look(), [], 'a node without an answer says nothing about its clock')
  ways['b'] = { ahead_ms: 1_000, takes_ms: 0 }
  t.same(await look(), [{ state: 'clock right', nodeId: 'b', name: 'node b' }])
})

t.test('a slow answer proves less', async (t) => {
  const { look, ways } = watched()
  delete ways['c']
  ways['b'] = { ahead_ms: -6_000, takes_ms: 2_000 }
  t.match(await look(), [{ state: 'clock apart' }], '6 to 8 s')
  ways['b'] = { ahead_ms: 5_500, takes_ms: 2_000 }
  t.same(await look(), [], '3.5 to 5.5 s: it may or may not be right')
  ways['b'] = { ahead_ms: 4_500, takes_ms: 2_000 }
  t.match(await look(), [{ state: 'clock right' }])
  ways['b'] = { ahead_ms: 6_000, takes_ms: 2_000 }
  t.same(await look(), [], '4 to 6 s')
})

t.test('a removed node is forgotten', async (t) => {
  const { look, ids, ways } = watched()
  ways['b'] = { ahead_ms: 8_000, takes_ms: 0 }
  await look()
  ids.splice(1, 1)
  t.same(await look(), [])
  ids.push('b')
  t.match(await look(), [{ state: 'clock apart', nodeId: 'b' }])
})
