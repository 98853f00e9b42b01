import t from 'tap'
import { FAILURES_MAX, Lockout, NAMES_PER_PLACE_MAX, NAMES_PER_SITE_MAX, WINDOW_MS } from '../../../src/auth/lockout.ts'
import { refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function failTimes(lockout: Lockout, count: number, email = 'a@b', address = '10.0.0.1') {
  for (let i = 0; i < count; i += 1) lockout.begin(email, address)(false)
}

t.test('five failures lock the account for that address, with Retry-After', async (test) => {
  const clock = manualClock()
  const lockout = new Lockout(clock)
  failTimes(lockout, FAILURES_MAX)
  const error = await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '10.0.0.1'))
  test.equal(error.details.headers?.['Retry-After'], String(WINDOW_MS / 1000))
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('A@B', '10.0.0.1'))
  lockout.begin('a@b', '10.0.0.2')(true)
  lockout.begin('other@b', '10.0.0.1')(true)
})

t.test('the lock opens when the oldest failure is fifteen minutes old', async (test) => {
  const clock = manualClock()
  const lockout = new Lockout(clock)
  failTimes(lockout, 1)
  clock.advance(60_000)
  failTimes(lockout, FAILURES_MAX - 1)
  clock.advance(WINDOW_MS - 60_001)
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '10.0.0.1'))
  clock.advance(1)
  lockout.begin('a@b', '10.0.0.1')(false)
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '10.0.0.1'))
})

t.test('a success forgets the failures', async () => {
  const lockout = new Lockout(manualClock())
  failTimes(lockout, FAILURES_MAX - 1)
  lockout.begin('a@b', '10.0.0.1')(true)
  failTimes(lockout, FAILURES_MAX - 1)
  lockout.begin('a@b', '10.0.0.1')(true)
})

t.test('concurrent attempts count: parallel guesses gain nothing', async (test) => {
  const lockout = new Lockout(manualClock())
  const settle = Array.from({ length: FAILURES_MAX }, () => lockout.begin('a@b', '10.0.0.1'))
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '10.0.0.1'))
  for (const done of settle) done(true)
  lockout.begin('a@b', '10.0.0.1')(true)
})

t.test('attempts under way are no failures: the next one is asked to come again in a second', async (test) => {
  const lockout = new Lockout(manualClock())
  failTimes(lockout, 1)
  const settle = Array.from({ length: FAILURES_MAX - 1 }, () => lockout.begin('a@b', '10.0.0.1'))
  const error = await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '10.0.0.1'))
  test.equal(error.details.headers?.['Retry-After'], '1')
  test.match(error.message, /^Too many logins with this name at once; try again in 1 second$/)
  for (const done of settle) done(false)
  const locked = await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '10.0.0.1'))
  test.equal(locked.details.headers?.['Retry-After'], String(WINDOW_MS / 1000))
})

t.test('an IPv6 network is one place, and so is an IPv4 address inside IPv6', async (test) => {
  const lockout = new Lockout(manualClock())
  for (let n = 1; n <= FAILURES_MAX; n += 1) lockout.begin('a@b', `2001:db8:1:2::${n}`)(false)
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '2001:0db8:0001:0002:ffff:0000:0000:0001'))
  lockout.begin('a@b', '2001:db8:1:3::1')(true)
  failTimes(lockout, FAILURES_MAX, 'a@b', '::ffff:192.0.2.1')
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '::ffff:192.0.2.1'))
  lockout.begin('a@b', '::ffff:192.0.2.2')(true)
})

t.test('spellings of one name count together, and a success with another password clears nothing', async (test) => {
  const lockout = new Lockout(manualClock())
  for (const name of ['alice', 'CORP\\alice', 'alice@corp', 'Al ice']) failTimes(lockout, 1, name)
  lockout.begin('alice@evil', '10.0.0.1')(true)
  failTimes(lockout, 1, 'corp/alice')
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('ALICE', '10.0.0.1'))
  lockout.begin('alice', '10.0.0.2')(true)
})

t.test('a locked name stays locked, however many names are tried', async (test) => {
  const lockout = new Lockout(manualClock(), 1_000)
  failTimes(lockout, FAILURES_MAX)
  for (let n = 0; n < 5_000; n++) failTimes(lockout, 1, `made-up-${n}`, `10.1.${n % 250}.${Math.floor(n / 250)}`)
  test.equal(lockout.size, 1_000, 'bounded')
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('a@b', '10.0.0.1'))
})

t.test('when all places are locked, no new name replaces one', async (test) => {
  const clock = manualClock()
  const lockout = new Lockout(clock, 3)
  for (const name of ['a', 'b', 'c']) failTimes(lockout, FAILURES_MAX, name)
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('d', '10.0.0.9'))
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('a', '10.0.0.1'))
  clock.advance(WINDOW_MS)
  lockout.begin('d', '10.0.0.9')(true)
})

t.test('one address can try a limited number of names, and others are unaffected', async (test) => {
  const clock = manualClock()
  const lockout = new Lockout(clock)
  for (let n = 0; n < NAMES_PER_PLACE_MAX; n++) failTimes(lockout, 1, `n${n}`)
  const error = await refuses(test, 'RATE_LIMITED', () => lockout.begin('one-more', '10.0.0.1'))
  test.equal(error.details.headers?.['Retry-After'], String(WINDOW_MS / 1000))
  lockout.begin('n1', '10.0.0.1')(true)
  lockout.begin('one-more', '10.0.0.1')(false)
  lockout.begin('somebody', '10.0.0.2')(true)
  for (let n = 0; n < 2 * NAMES_PER_PLACE_MAX; n++) lockout.begin(`u${n}`, 'second factor')(false)
  clock.advance(WINDOW_MS)
  for (let n = 0; n < NAMES_PER_PLACE_MAX; n++) failTimes(lockout, 1, `again${n}`)
})

t.test('and so can one site, from any of its networks', async (test) => {
  const lockout = new Lockout(manualClock())
  for (let n = 0; n < NAMES_PER_SITE_MAX; n++) failTimes(lockout, 1, `n${n}`, `2001:db8:1:${(n % 50).toString(16)}::1`)
  await refuses(test, 'RATE_LIMITED', () => lockout.begin('one-more', '2001:db8:1:ff::1'))
  lockout.begin('one-more', '2001:db8:2:ff::1')(true)
})
