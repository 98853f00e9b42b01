import t from 'tap'
import { TickClock } from '../../../workers/archive/tick-clock.ts'

function begin() {
  const state = { wall: 1_700_000_000_000, monotonic: 5_000 }
  const clock = new TickClock({ now_ms: () => state.wall, monotonic_ms: () => state.monotonic })
  const pass = (ms: number, wall_ms = ms): void => {
    state.monotonic += ms
    state.wall += wall_ms
  }
  return { state, clock, pass }
}

t.test('it runs with the wall clock and slews small differences', async (t) => {
  const { state, clock, pass } = begin()
  t.equal(clock.now_ms(), state.wall)
  pass(1_000, 1_500)
  t.equal(clock.adjust(), 'steady')
  t.equal(state.wall - clock.now_ms(), 490, 'one per cent of a second nearer')
  for (let i = 0; i < 60; i++) {
    pass(1_000)
    clock.adjust()
  }
  t.equal(clock.now_ms(), state.wall)
})

t.test('a forward jump is followed at once', async (t) => {
  const { state, clock, pass } = begin()
  pass(1_000, 3_600_000)
  t.equal(clock.adjust(), 'jumped-forward')
  t.equal(clock.now_ms(), state.wall)
})

t.test('back by up to a minute: no second occurs twice', async (t) => {
  const { state, clock, pass } = begin()
  const before = clock.now_ms()
  pass(1_000, -59_000)
  t.equal(clock.adjust(), 'steady')
  t.ok(clock.now_ms() > before)
  for (let i = 0; i < 6_100; i++) {
    const now = clock.now_ms()
    pass(1_000)
    clock.adjust()
    if (clock.now_ms() <= now) t.fail('it ran backwards')
  }
  t.equal(clock.now_ms(), state.wall)
})

t.test('back by more: only after three ticks that agree', async (t) => {
  const { state, clock, pass } = begin()
  pass(1_000, -3_600_000)
  t.equal(clock.adjust(), 'steady')
  pass(1_000)
  t.equal(clock.adjust(), 'steady')
  pass(1_000)
  t.equal(clock.adjust(), 'stepped-back')
  t.equal(clock.now_ms(), state.wall)
  t.equal(clock.monotonic_s(), 8)
})

t.test('back by any span: at once when intended, and only then', async (t) => {
  for (const back_ms of [3_600_000, 30 * 86_400_000]) {
    const { state, clock, pass } = begin()
    pass(1_000, -back_ms)
    clock.trust()
    t.equal(clock.adjust(), 'stepped-back')
    t.equal(clock.now_ms(), state.wall)
    pass(1_000, -back_ms)
    t.equal(clock.adjust(), 'steady', 'the next one is observed for a while again')
  }
})

t.test('an intended step forward is followed like any other', async (t) => {
  const { state, clock, pass } = begin()
  pass(1_000, 3_600_000)
  clock.trust()
  t.equal(clock.adjust(), 'jumped-forward')
  t.equal(clock.now_ms(), state.wall)
})

t.test('a small step back is slewed even when intended: no second occurs twice', async (t) => {
  const { clock, pass } = begin()
  const before = clock.now_ms()
  pass(1_000, -30_000)
  clock.trust()
  t.equal(clock.adjust(), 'steady')
  t.ok(clock.now_ms() > before)
})
