import t from 'tap'
import { refuseRevisionFlood } from '../../../src/config/revision-flood.ts'
import { refuses } from '../../fixtures/config.ts'

const HOUR_MS = 3_600_000
const at = (ms: number) => new Date(1_800_000_000_000 + ms).toISOString()

t.test('one user makes a limited number of revisions a day, and affects no other', async (test) => {
  const made = [
    { by: 'ann', hours: 0 },
    { by: 'bert', hours: 1 },
    { by: 'ann', hours: 2 },
    { by: 'ann', hours: 3 },
  ]
  const all = made.map(({ by, hours }, place) => ({
    applyId: '',
    revision: place + 1,
    by,
    at: at(hours * HOUR_MS),
    comment: '',
    count: 1,
  }))
  const store = {
    revision: all.length,
    revisionHeaders: (limit: number, before = Infinity) =>
      all
        .filter(({ revision }) => revision < before)
        .toReversed()
        .slice(0, limit),
  }
  const asks = (by: string, hours: number) => () => refuseRevisionFlood(store, { by, at: at(hours * HOUR_MS) }, 3)
  const error = await refuses(test, 'TOO_MANY_AT_ONCE', asks('ann', 4))
  test.match(error.details.headers, { 'Retry-After': String(20 * 3600) })
  asks('bert', 4)()
  asks('ann', 24)()
  refuseRevisionFlood({ revision: 0, revisionHeaders: () => [] }, { by: 'ann', at: at(0) }, 3)
})
