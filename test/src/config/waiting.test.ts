import t from 'tap'
import { refuseWaiting, waiting } from '../../../src/config/waiting.ts'
import { refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('what waits says until when, and refuses others with the seconds that are left', async (test) => {
  const clock = manualClock()
  refuseWaiting(undefined, clock)
  const header = { applyId: 'x', revision: 3, by: 'a@b', at: '', comment: '' }
  const unconfirmed = waiting(header, 30, clock)
  test.match(unconfirmed, { revision: 3, by: 'a@b', deadline: { bootId: clock.bootId } })
  clock.advance(10_500)
  const error = await refuses(test, 'APPLY_IN_PROGRESS', () => refuseWaiting(unconfirmed, clock))
  test.match(error.details.headers, { 'Retry-After': '20' })
  clock.advance(3_600_000)
  const late = await refuses(test, 'APPLY_IN_PROGRESS', () => refuseWaiting(unconfirmed, clock))
  test.match(late.details.headers, { 'Retry-After': '1' })
})
