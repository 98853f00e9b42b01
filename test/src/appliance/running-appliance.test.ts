import { mkdirSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { applianceFixture, caller } from '../../fixtures/appliance.ts'
import { until } from '../../fixtures/until.ts'
import { checkState } from '../../../src/daemon/check.ts'
import { defer } from '../../../src/base/deferred.ts'
import type { Step } from '../../../src/drivers/driver.ts'
import type { Listener } from '../../../src/http/server.ts'

t.test('a start enforces running on the machine, except for a HAProxy of others', async (test) => {
  const trial = await applianceFixture(test)
  await trial.appliance.run()
  test.ok(
    trial.machine.host.journal.some((entry) => entry.verb === 'unit'),
    'trial has its own HAProxy from the start',
  )
  const found = await applianceFixture(test, { profile: 'appliance' })
  await found.appliance.run()
  test.notOk(
    found.machine.host.journal.some((entry) => entry.verb === 'unit'),
    'that of an appliance is left as found',
  )
})

t.test('it listens, answers and closes', async (test) => {
  const { appliance, node } = await applianceFixture(test)
  const [api] = await appliance.listen()
  test.ok((api?.port ?? 0) > 0)
  test.equal(appliance.nodeId, node)
  test.equal((await caller(appliance)('GET', '/ping')).status, 200)
  test.equal(appliance.firstAdministrator?.email, 'admin@localhost')
})

t.test('a disk error in one part does not keep others from closing', async (test) => {
  const { appliance, state } = await applianceFixture(test)
  await appliance.listen()
  await appliance.run()
  // It cannot be removed, as on a disk that became read-only.
  rmSync(join(state, 'api.sock'))
  mkdirSync(join(state, 'api.sock'))
  await appliance.close()
  test.same(await checkState(state), [], 'the stores are closed as well')
})

t.test('an unconfirmed apply is reverted by the daemon itself', async (test) => {
  const { appliance, call } = await applianceFixture(test)
  await appliance.run()
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '127.0.0.1', port: 80 } })
  const applied = await call('PUT', '/services/apply', { body: { confirmWithin: 5 } })
  test.equal(applied.status, 200)
  test.match(applied.json.data.confirmBy, /^\d{4}-/)
  const pending = async () => (await call('GET', '/services/pending')).json.data
  test.match(await pending(), { revision: 2, count: 0 })
  const reverted = await until('the next revision', pending, ({ revision }) => revision !== 2)
  test.match(reverted, { revision: 3, count: 1, changes: [{ op: 'create', by: 'admin@localhost' }] })
  const audited = async () => (await call('GET', '/audit?endpoint=services.revertApply')).json.data
  test.match(await until('its entry', audited, ({ length }) => length > 0), [
    {
      by: 'fulcrum',
      requestId: '',
      path: '/api/v1/services/apply/revert',
      outcome: 'done',
      revision: 3,
      live: [{ op: 'delete', name: 'web' }],
    },
  ])
})

/** The answer of a listener, as text. */
function answered(api: Listener | undefined, method: string, path: string, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  const address = { host: api?.host, port: api?.port, rejectUnauthorized: false, agent: false } as const
  return new Promise((resolve, reject) => {
    const asked = request({ ...address, method, path: `/api/v1${path}`, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
    asked.on('error', reject).end()
  })
}

t.test('a stop ends the current apply, and answers its caller', async (test) => {
  const [begun, mayEnd] = [defer(), defer()]
  let isHeld = false
  const executor = {
    check: async () => ({ ok: true, done: 0, recorded: 0, warnings: [] }) as const,
    execute: async (steps: readonly Step[]) => {
      if (isHeld) {
        begun.resolve()
        await mayEnd.promise
      }
      return { ok: true, done: steps.length, recorded: 0, warnings: [] } as const
    },
  }
  const { appliance, call, token } = await applianceFixture(test, {}, { executor })
  const [api] = await appliance.listen()
  const frontend = { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '8080' }
  test.equal((await call('POST', '/layer7proxy/frontends', { body: frontend })).status, 201)
  isHeld = true
  const asked = answered(api, 'PUT', '/services/apply', token)
  await begun.promise
  const closed = appliance.close()
  await test.rejects(answered(api, 'GET', '/ping', token), { code: 'ECONNREFUSED' }, 'nothing more begins')
  mayEnd.resolve()
  test.match(await asked, /^200 \{"status":"success"/)
  test.equal(await closed, undefined)
})
