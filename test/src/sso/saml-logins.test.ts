import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import type { SessionData } from '../../../src/context/actor.ts'
import { ACS_PATH, partiesOf, SamlLogins } from '../../../src/sso/saml-logins.ts'
import type { ComputePool } from '../../../src/threads/worker-pool.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'

/** Logins are tested through the API: test/src/resources/saml.test.ts. */
const flags = { id: 'cluster', enabled: true, enforced: false, breakGlassUserId: '' }
const idp = { idpEntityId: 'idp', idpSsoUrl: 'https://idp.test/sso', idpCertificates: ['pem'] }
const config = { ...flags, ...idp, baseUrl: 'https://lb.test', emailAttribute: 'mail' }

t.test('both sides are named by their addresses', async (test) => {
  test.same(partiesOf(config), {
    entityId: 'https://lb.test/api/v1/saml/metadata',
    acsUrl: `https://lb.test${ACS_PATH}`,
    ...idp,
    emailAttribute: 'mail',
  })
})

t.test('forged answers do not fill the log', async (test) => {
  const lines: unknown[] = []
  const logins = new SamlLogins({
    running: viewOf({ samlConfigs: [config] }),
    compute: { run: async () => ({ problem: 'it has no signature' }) } as unknown as ComputePool,
    clock: manualClock(),
    log: { ...silentLog, warn: (...said: unknown[]) => void lines.push(said) },
    login: { admitted: () => Promise.reject<SessionData>(new Error('nobody is let in')) },
  })
  const asking = { client: { address: '192.0.2.1' }, actor: { userId: '', email: '', sessionId: '' }, may: () => false }
  for (let n = 0; n < 150; n++) {
    const [cookie = ''] = logins.begin(false).cookie.split(';')
    await test.rejects(logins.finish(asking, 'made up', cookie), { code: 'INVALID_CREDENTIALS' })
  }
  test.equal(lines.length, 100, 'the others are counted')
})
