import t from 'tap'
import { TurnRefusals } from '../../../src/http/turn-refusals.ts'

t.test(
  'so many refusals of one turn are answered; the next turn begins anew, and others do not count',
  async (test) => {
    const refusals = new TurnRefusals()
    for (let turn = 0; turn < 3; turn++) {
      for (let n = 0; n < 1_000; n++) test.equal(refusals.areTooMany(200), false)
      for (let n = 0; n < 64; n++) test.equal(refusals.areTooMany(n % 2 === 0 ? 401 : 404), false)
      test.equal(refusals.areTooMany(401), true)
      test.equal(refusals.areTooMany(304), false)
      await new Promise((resolve) => setImmediate(resolve))
    }
  },
)
