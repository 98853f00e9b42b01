import t from 'tap'
import { happened, movesOf, spaced } from '../../../../src/ui/core/moves.ts'

t.test('a frequent request runs at once, and once at the end of each interval', async (test) => {
  const ends: (() => void)[] = []
  let done = 0
  const ask = spaced(
    5_000,
    () => (done += 1),
    (act, wait_ms) => {
      test.equal(wait_ms, 5_000)
      ends.push(act)
    },
  )
  ask()
  test.equal(done, 1)
  for (let time = 0; time < 100; time++) ask()
  test.equal(done, 1)
  ends.shift()?.()
  test.equal(done, 2, 'the last of them is not lost')
  ends.shift()?.()
  test.equal(done, 2)
  ask()
  test.equal(done, 3, 'at once again')
})

t.test('lists are refreshed by events about them, and by no others', async (test) => {
  const moves = () => ['/ipvsDirector/rips', '/jobs', '/certificates/certs', '/ciphers/lists'].map(movesOf)
  const before = moves()
  happened('login')
  test.same(moves(), before)
  // Those of servers are refreshed in live.test.ts, and each kind has its interval between two of them.
  happened('certificate')
  test.same(
    moves().map((now, at) => now - (before[at] ?? 0)),
    [0, 0, 1, 0],
  )
  happened('job')
  test.same(
    moves().map((now, at) => now - (before[at] ?? 0)),
    [0, 1, 1, 0],
  )
})
