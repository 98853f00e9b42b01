import t from 'tap'
import { span_s, tierAt, TIERS } from '../../../storage/archive/tiers.ts'

t.test('the tiers are those of the contract', async (t) => {
  t.strictSame(
    TIERS.map(({ step_s, rows }) => [step_s, (step_s * rows) / 3_600]),
    [
      [1, 2],
      [10, 24],
      [60, 192],
      [300, 960],
      [3_600, 17_520],
    ],
  )
})

t.test('each step is a multiple of the one before, and a chunk closes within the finer retention', async (t) => {
  for (let index = 1; index < TIERS.length; index++) {
    const finer = tierAt(index - 1)
    t.equal(tierAt(index).step_s % finer.step_s, 0)
    t.ok(span_s(tierAt(index)) * 2 <= finer.step_s * finer.rows)
  }
  t.throws(() => tierAt(9))
})
