import t from 'tap'
import { CountingAge } from '../../../src/stats/counting-age.ts'

t.test('another layout is another process of HAProxy, whose totals restarted; so is a silence', (test) => {
  let now_ms = 0
  const counting = new CountingAge(() => now_ms)
  const ages = [1, 1, 1, 2, 2, -1, 2].map((layout) => {
    now_ms += 1000
    counting.met(layout)
    return counting.age_ms()
  })
  test.same(ages, [0, 1000, 2000, 0, 1000, 0, 0])
  test.end()
})
