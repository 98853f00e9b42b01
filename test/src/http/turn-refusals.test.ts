import t from 'tap'
import { TurnRefusals } from '../../../src/http/turn-refusals.ts'

t.test(
  'a limited number of refusals per turn is answered; the next turn starts again, and others do not count',
  async (test) => {
    const refusals = new TurnRefusals()
    for (let turn = 0; turn < 3; turn++) {
      test.notOk(Array.from({ length: 1_000 }, () => refusals.areTooMany(200)).includes(true))
      test.notOk(Array.from({ length: 64 }, (_, n) => refusals.areTooMany(n % 2 === 0 ? 401 : 404)).includes(true))
      test.equal(refusals.areTooMany(401), true)
      test.equal(refusals.areTooMany(304), false)
      await new Promise((resolve) => setImmediate(resolve))
    }
  },
)
