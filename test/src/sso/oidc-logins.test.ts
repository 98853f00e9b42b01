import t from 'tap'
import type { SessionData } from '../../../src/context/actor.ts'
import { OidcLogins } from '../../../src/sso/oidc-logins.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'
import { oidcProvider } from '../../simulators/oidc-provider.ts'

/** Logins are tested through the API: test/src/resources/sign-in/oidc.test.ts. */
const asking = { client: { address: '192.0.2.1' }, actor: { userId: '', email: '', sessionId: '' }, may: () => false }

t.test('the log entry of a refused answer holds no secret', async (test) => {
  const provider = await oidcProvider(test)
  const lines: string[] = []
  const log = { ...silentLog, warn: (...said: unknown[]) => void lines.push(JSON.stringify(said)) }
  const logins = new OidcLogins({
    running: viewOf({ oidcConfigs: [{ id: 'cluster', ...provider.config }] }),
    clock: systemClock,
    log,
    allowsLoopback: true,
    login: { admitted: () => Promise.reject<SessionData>(new Error('nobody is let in')) },
  })
  const { location, cookie } = await logins.begin(false)
  const [pair = ''] = cookie.split(';')
  provider.told.claims = { aud: 'another', email: 'private@example.org' }
  const answer = new URL(provider.authorize(location)).searchParams
  await test.rejects(logins.finish(asking, answer, pair), { code: 'INVALID_CREDENTIALS' })
  test.match(lines, [/audience/])
  for (const secret of [provider.config.clientSecret, answer.get('code') ?? '', pair, 'private@example.org'])
    test.notOk(lines.join('').includes(secret), secret)
})

t.test('five answers of one login may be wrong', async (test) => {
  const provider = await oidcProvider(test)
  const logins = new OidcLogins({
    running: viewOf({ oidcConfigs: [{ id: 'cluster', ...provider.config }] }),
    clock: systemClock,
    log: silentLog,
    allowsLoopback: true,
    login: { admitted: () => Promise.reject<SessionData>(new Error('nobody is let in')) },
  })
  const { location, cookie } = await logins.begin(false)
  const wrong = new URL(provider.authorize(location)).searchParams
  wrong.set('code', 'guessed')
  for (let tries = 0; tries < 5; tries++) await test.rejects(logins.finish(asking, wrong, cookie), /is not valid/)
  const right = new URL(provider.authorize(location)).searchParams
  await test.rejects(logins.finish(asking, right, cookie), /did not start this login/)
  test.equal(provider.asked.filter((path) => path === '/token').length, 5)
})

t.test('a provider that is down does not fill the log, however many logins are begun', async (test) => {
  const provider = await oidcProvider(test)
  const lines: unknown[] = []
  const logins = new OidcLogins({
    running: viewOf({ oidcConfigs: [{ id: 'cluster', ...provider.config, issuer: 'https://127.0.0.1:9' }] }),
    clock: manualClock(),
    log: { ...silentLog, error: (...said: unknown[]) => void lines.push(said) },
    allowsLoopback: true,
    login: { admitted: () => Promise.reject<SessionData>(new Error('nobody is let in')) },
  })
  for (let n = 0; n < 150; n++) await test.rejects(logins.begin(false), { code: 'INVALID_CREDENTIALS' })
  test.equal(lines.length, 100, 'the others are counted')
})
