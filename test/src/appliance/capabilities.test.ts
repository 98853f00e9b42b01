import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { applianceFixture, caller, startIn } from '../../fixtures/appliance.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { until } from '../../fixtures/until.ts'

const BODIES: Readonly<Record<string, object>> = {
  'updates.upload': { packages: 'AA==' },
  'updates.majorVersion': { versionNumber: '9' },
  'lvmSnapshots.restore': {},
  'dateTime.update': { dateTime: '2026-01-31T13:45:00' },
  'backups.restore': { file: 'gone' },
  'config.plan': { document: { version: 1 } },
  'userInterface.update': { apiPort: 9444 },
  'cluster.form': { name: 'site', address: '192.0.2.1' },
  'cluster.join': { token: 'x', address: '192.0.2.1' },
  'cluster.changeNode': { name: 'other' },
  'cluster.maintainNode': { enabled: true },
  'floatingIps.move': { nodeId: 'other' },
  'cluster.prefer': { preferredNode: null },
  'cluster.takeOver': { partnerIsOff: 'x', reason: 'y' },
  'cluster.resolve': { keep: 'x' },
}

t.test('a daemon that only observes refuses operations on a machine, and edits of its sections', async (test) => {
  const { call, node } = await applianceFixture(test, { observe: { path: '/nowhere/haproxy.sock' } })
  const managed = endpoints.filter(({ managedOnly }) => managedOnly)
  test.equal(managed.length, 31)
  for (const { name, method, path } of managed) {
    const body = BODIES[name]
    const place = path.replace('{applianceId}', node).replace('{service}', 'ssh').replace('{n}', '1')
    const { status, json } = await call(method, place, body === undefined ? {} : { body })
    test.match({ status, json }, { status: 501, json: { code: 'NOT_SUPPORTED', message: /only observes/ } }, name)
  }
  const real = { name: 'x', ip: '127.0.0.1', port: 1 }
  test.equal((await call('POST', '/ipvsDirector/rips', { body: real })).status, 501)
  test.equal((await call('PUT', '/services/apply?force=restart')).status, 501)
  test.equal((await call('POST', '/rbac/groups', { body: { name: 'watchers', id: 'watchers' } })).status, 201)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.same((await call('GET', '/services')).json.data, [])
})

const LEFT = '0198c0de-0000-7000-8000-000000000001'

t.test('a start resumes jobs, and removes what belongs to none', async (test) => {
  const state = temporaryFolder(test, 'appliance')
  const store = new LmdbConfigStore(join(state, 'config'))
  const about = { kind: 'gone', group: 'gone', title: 'Gone', by: 'a@b', startedAt: '2026-01-31T13:45:00.000Z' }
  const job = { id: LEFT, ...about, state: 'running', progress: null, step: '', log: [], result: null, problem: null }
  await store.jobs.put(LEFT, job)
  await store.close()
  for (const name of [LEFT, 'nobody']) mkdirSync(join(state, 'jobs', name), { recursive: true })
  const { appliance, login } = await startIn(test, { state })
  await appliance.run()
  const call = caller(appliance, await login('admin@localhost', 'correct horse battery'))
  await until('its end', async () => (await call('GET', `/jobs/${LEFT}`)).json.data.state === 'failed')
  await until('tidy', async () => !existsSync(join(state, 'jobs/nobody')))
  test.ok(existsSync(join(state, 'jobs', LEFT)))
})
