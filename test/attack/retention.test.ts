import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AUDIT_SEGMENT_BYTES_MAX, AUDIT_SHORT_SEGMENTS } from '../../storage/limits.ts'
import { AuditLog } from '../../storage/audit/audit-log.ts'
import { segmentsIn } from '../../storage/audit/segments.ts'
import { createAppliance } from '../../src/appliance/appliance.ts'
import { checkState } from '../../src/daemon/check.ts'
import { silentLog } from '../../src/base/log.ts'
import {
  ADMIN,
  applianceFixture,
  caller,
  type Received,
  recordingMachine,
  testSettings,
} from '../fixtures/appliance.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { createUser, PASSWORD } from './attack-fixture.ts'

const FLOODER = 'nothing@localhost'
const AT = '2026-01-02T03:04:05.000Z'

/** A log that an attacker has filled with successes for hours: as large as possible without a shortage. */
async function flooded(folder: string): Promise<void> {
  const log = new AuditLog(folder, { keep_ms: 90 * 86_400_000 })
  const asked = { at: AT, requestId: 'r-1', address: '192.0.2.1', method: 'PUT', path: '/api/v1/x', outcome: 'done' }
  await log.append({ ...asked, by: ADMIN.email, endpoint: 'localUsers.update', body: 'who did it' })
  const entry = { ...asked, by: FLOODER, endpoint: 'account.createToken', body: 'x'.repeat(60_000) }
  const perSegment = Math.ceil(AUDIT_SEGMENT_BYTES_MAX / 60_000)
  while (segmentsIn(folder).length <= AUDIT_SHORT_SEGMENTS) {
    await Promise.all(Array.from({ length: perSegment }, () => log.append(entry)))
  }
  await log.close()
}

/**
 * Returns the first answer with 429, and the number of others. A place becomes free now and then, more often while a
 * machine is slow.
 */
async function untilRefused(ask: () => Promise<Received>): Promise<readonly [number, Received]> {
  for (let count = 0; count < 1_000; count++) {
    const answer = await ask()
    if (answer.status === 429) return [count, answer]
  }
  throw new Error('nobody was refused')
}

t.test(
  'retention: a user who floods the audit log with successes is slowed down, others are not, and no entry is lost',
  async (test) => {
    const state = temporaryFolder(test, 'retention')
    const folder = join(state, 'audit')
    await flooded(folder)
    const appliance = await createAppliance(testSettings(state), recordingMachine(state), silentLog)
    test.teardown(() => appliance.close())
    const anonymous = caller(appliance)
    const login = async (email: string, password: string) =>
      String((await anonymous('POST', '/token', { body: { email, password } })).json.data.token)
    const admin = caller(appliance, await login(ADMIN.email, ADMIN.password))
    await createUser(admin, FLOODER)
    await admin('PUT', '/services/apply')
    const flooder = caller(appliance, await login(FLOODER, PASSWORD))
    const before = segmentsIn(folder)
    const [made, refusal] = await untilRefused(async () => {
      const answer = await flooder('POST', '/localUsers/me/tokens', { body: { name: 'again' } })
      if (answer.status === 201) await flooder('DELETE', `/localUsers/me/tokens/${answer.json.data.id}`)
      return answer
    })
    test.ok(made > 10 && made < 200, `${made} tokens at once`)
    test.match(refusal, { status: 429, json: { code: 'TOO_MANY_AT_ONCE', message: /keeps 90 days/ } })
    test.match(refusal.headers['Retry-After'], /^\d+$/)
    const body = { email: FLOODER.toUpperCase(), password: PASSWORD }
    const [logins] = await untilRefused(() => anonymous('POST', '/token', { body }))
    test.ok(logins < 10, 'nor with repeated logins')
    test.equal((await flooder('GET', '/localUsers/me')).status, 200, 'requests without an entry are still answered')
    for (let n = 0; n < 20; n++) test.equal((await admin('PUT', '/services/apply')).status, 200)
    test.same(segmentsIn(folder).slice(0, before.length), before, 'no entry is lost')
    const [first] = (await admin('GET', `/audit?before=2`)).json.data
    test.match(first, { seq: 1, body: 'who did it' })
    await appliance.close()
    test.same(await checkState(state), [])
  },
)

t.test('retention: a flood of refusals is one entry, and delays no valid request', async (test) => {
  const { call, appliance, state } = await applianceFixture(test)
  await createUser(call, FLOODER)
  await call('PUT', '/services/apply')
  const token = (await call('POST', '/token', { body: { email: FLOODER, password: PASSWORD } })).json.data.token
  const flooder = caller(appliance, token)
  const bytes = () => segmentsIn(join(state, 'audit')).reduce((sum, path) => sum + readFileSync(path).length, 0)
  for (let n = 0; n < 40; n++) await flooder('PUT', '/services/apply')
  const before = bytes()
  const statuses = new Set<number>()
  for (let n = 0; n < 2_000; n++) {
    statuses.add((await flooder('PUT', '/services/apply', { body: { comment: 'x'.repeat(900) } })).status)
    statuses.add((await flooder('DELETE', '/localUsers/me/tokens/none')).status)
  }
  test.same(statuses, new Set([403, 404]))
  test.ok(bytes() - before < 2_000, `${bytes() - before} bytes`)
  const made = await flooder('POST', '/localUsers/me/tokens', { body: { name: 'a program' } })
  test.equal(made.status, 201)
  const { data } = (await call('GET', `/audit?by=${FLOODER}&limit=5`)).json
  test.match(data[0], { endpoint: 'account.createToken', outcome: 'done' })
  await appliance.close()
  const lines = segmentsIn(join(state, 'audit')).flatMap((path) => readFileSync(path, 'utf8').split('\n'))
  const counted = lines.flatMap((line) => /"count":(\d+)/.exec(line)?.[1] ?? [])
  test.ok(counted.length <= 2, 'the first at once, the others at the latest when the daemon ends')
  const sum = counted.reduce((all, count) => all + Number(count), 0)
  test.equal(sum, 4_010, 'and none is lost')
})

t.test('retention: many small applies push no revision out', async (test) => {
  const { call } = await applianceFixture(test)
  const { id } = (await call('POST', '/ipvsDirector/rips', { body: { name: 'w', ip: '192.0.2.1', port: 1 } })).json.data
  await call('PUT', '/services/apply', { body: { comment: 'the first' } })
  for (let n = 0; n < 1_005; n++) {
    await call('PUT', `/ipvsDirector/rips/${id}/${n % 2 === 0 ? 'drain' : 'online'}`)
    await call('PUT', '/services/apply')
  }
  const { data } = (await call('GET', '/revisions?before=3')).json
  test.match(data, [{ revision: 2, comment: 'the first' }, { revision: 1 }])
  test.equal((await call('GET', '/revisions/1/diff/1007')).status, 200)
})
