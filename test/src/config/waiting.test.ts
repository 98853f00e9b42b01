import t from 'tap'
import { refuseWaiting, waiting } from '../../../src/config/waiting.ts'
import { refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('a waiting apply has its deadline, and refuses others with the remaining seconds', async (test) => {
  const clock = manualClock()
  const header = { applyId: 'x', revision: 3, by: 'a@b', at: '', comment: '' }
  const unconfirmed = waiting(header, 30, clock)
  test.match(unconfirmed, { revision: 3, by: 'a@b', deadline: { bootId: clock.bootId } })
  const refused = () =>
    refuses(test, 'APPLY_IN_PROGRESS', () => refuseWaiting(unconfirmed, unconfirmed.deadline, clock))
  clock.advance(10_500)
  const error = await refused()
  test.match(error.details.headers, { 'Retry-After': '20' })
  test.match(error.message, /waits for confirmation/)
  clock.advance(3_600_000)
  const late = await refused()
  test.match(late.details.headers, { 'Retry-After': '1' })
  test.match(late.message, /was not confirmed by/)
})

t.test('a clock that was set forward does not end it, as the machine counts independently', async (test) => {
  const clock = manualClock()
  const unconfirmed = waiting({ applyId: 'x', revision: 3, by: 'a@b', at: '', comment: '' }, 30, clock)
  const ahead = { ...clock, now_ms: () => clock.now_ms() + 3_600_000 }
  const error = await refuses(test, 'APPLY_IN_PROGRESS', () => refuseWaiting(unconfirmed, unconfirmed.deadline, ahead))
  test.match(error.message, /waits for confirmation/)
  test.match(error.details.headers, { 'Retry-After': '30' })
})
