import t, { type Test } from 'tap'
import { type Caller, caller, applianceFixture } from '../fixtures/appliance.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { until } from '../fixtures/until.ts'
import { createUser, PASSWORD, roleIds } from './attack-fixture.ts'

const LOW = ['Operator', 'Manager', 'Certificates', 'Backup', 'Monitoring', 'Auditor'] as const

interface Change {
  readonly id: string
  readonly resource: string
  readonly resourceId: string
  readonly by: string
}

/** An administrator, a user of each default role, and one without roles; `pending` returns the pending changes. */
async function people(test: Test, wanted: readonly string[] = ['Operator', 'Manager']) {
  const fixture = await applianceFixture(test)
  const { call, appliance, login } = fixture
  const roles = await roleIds(call)
  const ids: Record<string, string> = {}
  for (const role of wanted)
    ids[role] = await createUser(call, `${role}@localhost`, role === 'nothing' ? [] : [roles[role] ?? ''])
  const target = await createUser(call, 'target@localhost', [roles['Manager'] ?? ''])
  const rip = (await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })).json.data
    .id
  await call('PUT', '/services/apply')
  const as: Record<string, Caller> = {}
  for (const role of wanted) as[role] = caller(appliance, await login(`${role}@localhost`, PASSWORD))
  const pending = async (): Promise<readonly Change[]> => (await call('GET', '/services/pending')).json.data.changes
  const by = (role: string): Caller => {
    const asked = as[role]
    if (asked === undefined) throw new Error(`${role} was not made`)
    return asked
  }
  return { ...fixture, by, ids, target, rip: String(rip), pending }
}

const disable = (call: Caller, user: string) => call('PUT', `/localUsers/users/${user}`, { body: { disabled: true } })

t.test('combined rights: only a user who could make a change applies it, reverts it or discards it', async (test) => {
  const { call, by, target, rip, pending } = await people(test, [...LOW, 'nothing'])
  await disable(call, target)
  await call('PUT', `/ipvsDirector/rips/${rip}`, { body: { port: 81, weight: 7 } })
  const before = JSON.stringify(await pending())
  const [person, server] = ['users', 'realServers'].map(
    (section) => JSON.parse(before).find(({ resource }: Change) => resource === section).id,
  )
  for (const role of [...LOW, 'nothing']) {
    const asked: readonly (readonly [string, string, unknown?])[] = [
      ['PUT', '/services/apply'],
      ['PUT', '/services/apply', { confirmWithin: 5 }],
      ['PUT', '/services/apply', { force: true }],
      ['PUT', '/services/apply?force=restart'],
      ['PUT', '/services/apply', { changes: [person] }],
      ['DELETE', '/services/pending'],
      ['DELETE', `/services/pending/${person}`],
    ]
    for (const [method, path, body] of asked) {
      const { status, json } = await by(role)(method, path, body === undefined ? {} : { body })
      test.match([status, json.code], [403, 'PERMISSION_DENIED'], `${role}: ${method} ${path} ${JSON.stringify(body)}`)
    }
  }
  test.equal(JSON.stringify(await pending()), before, 'all changes are still pending')
  const told = await by('Manager')('PUT', '/services/apply')
  test.match(told.json.errors, [{ field: person, code: 'PERMISSION_DENIED', message: /localUsers\.update/ }])
  test.equal(told.json.errors.length, 1)
  // They can do what their rights cover, and only that.
  test.equal((await by('Operator')('PUT', '/services/apply', { body: { changes: [server] } })).status, 403)
  test.equal((await by('Manager')('PUT', '/services/apply', { body: { changes: [server] } })).status, 200)
  test.match(await pending(), [{ id: person }])
  test.equal((await call('PUT', '/services/apply')).status, 200)
})

t.test('combined rights: the last user to touch a change does not become its owner', async (test) => {
  const { by, rip, pending } = await people(test)
  await by('Manager')('PUT', `/ipvsDirector/rips/${rip}`, { body: { port: 80, weight: 1 } })
  test.equal((await by('Operator')('PUT', `/ipvsDirector/rips/${rip}/drain`)).status, 200)
  test.match(await pending(), [{ by: 'Operator@localhost', alsoBy: ['Manager@localhost'] }])
  const all = (await by('Operator')('PUT', '/services/apply', { body: {} })).json
  test.match(all, { code: 'PERMISSION_DENIED', errors: [{ message: /realServers\.update/ }] })
  const mine = (await by('Operator')('PUT', '/services/apply', { body: { mine: true } })).json
  test.match(mine, { status: 'success', message: /^Nothing was applied/ }, 'it is not theirs alone')
  test.equal((await pending()).length, 1)
  test.equal((await by('Manager')('PUT', '/services/apply')).status, 200)
  await by('Operator')('PUT', `/ipvsDirector/rips/${rip}/online`)
  test.equal((await by('Operator')('PUT', '/services/apply', { body: { mine: true } })).status, 200)
})

t.test('combined rights: half of a change of access is neither applied nor discarded', async (test) => {
  const { call, target, ids, pending } = await people(test, ['nothing'])
  await disable(call, target)
  await call('DELETE', `/localUsers/users/${ids['nothing']}`)
  const [one] = await pending()
  const half = await call('PUT', '/services/apply', { body: { changes: [one?.id] } })
  test.match([half.status, half.json.code, half.json.errors.length], [409, 'DEPENDS_ON_PENDING', 1])
  test.match((await call('DELETE', `/services/pending/${one?.id}`)).json.message, /and 1 more/)
  test.same(await pending(), [])
})

t.test('combined rights: an unconfirmed change is pending again, as its author’s', async (test) => {
  const { call, by, target, rip, pending, appliance } = await people(test)
  await appliance.run()
  await by('Operator')('PUT', `/ipvsDirector/rips/${rip}/drain`)
  await disable(call, target)
  const before = await pending()
  await call('PUT', '/services/apply', { body: { confirmWithin: 5 } })
  test.same(await pending(), [])
  test.equal((await by('Manager')('PUT', '/services/apply/confirm')).status, 403, 'nor can a Manager confirm it')
  await until('it is taken back', async () => (await pending()).length > 0)
  const strip = (changes: readonly Change[]) =>
    changes.map(({ id, by: author, resourceId }) => [id, author, resourceId])
  test.same(strip(await pending()), strip(before))
  test.match((await call('GET', '/revisions?limit=1')).json.data, [{ by: 'fulcrum' }])
})

t.test(
  'combined rights: the transaction of another user cannot be rolled back, and no lost right is committed',
  async (test) => {
    const { call, by, target, ids } = await people(test)
    const { id } = (await call('POST', '/transactions')).json.data
    await call('PUT', `/localUsers/users/${target}`, { body: { disabled: true }, headers: { 'x-transaction-id': id } })
    test.match((await by('Manager')('PUT', `/transactions/${id}/rollback`)).json, { code: 'PERMISSION_DENIED' })
    test.equal((await call('PUT', `/transactions/${id}/rollback`)).status, 200)
    const theirs = (await by('Manager')('POST', '/transactions')).json.data.id
    const headers = { 'x-transaction-id': theirs }
    const body = { name: 'more', ip: '192.0.2.10', port: 80 }
    test.equal((await by('Manager')('POST', '/ipvsDirector/rips', { body, headers })).status, 201)
    const monitoring = (await roleIds(call))['Monitoring']
    await call('PUT', `/localUsers/users/${ids['Manager']}`, { body: { roles: [monitoring] } })
    await call('PUT', '/services/apply')
    test.equal((await by('Manager')('PUT', `/transactions/${theirs}/commit`)).status, 403)
    test.match((await call('GET', '/services/pending')).json.data, { count: 0 })
  },
)

t.test('combined rights: no revision without a change, and a restart only with the right to restart', async (test) => {
  const { call, by } = await people(test)
  const newest = async () => (await call('GET', '/revisions?limit=1')).json.data[0].revision
  const before = await newest()
  for (let n = 0; n < 3; n++) {
    test.equal((await by('Operator')('PUT', '/services/apply?force=restart')).status, 403)
    test.equal((await by('Operator')('PUT', '/services/apply', { body: { force: true } })).status, 200)
    test.equal((await call('PUT', '/services/apply?force=restart')).status, 200)
  }
  test.equal(await newest(), before)
})

t.test('combined rights: a certificate manager applies their own changes, and no changes of others', async (test) => {
  const { by, rip, pending, call } = await people(test, ['Certificates', 'Manager'])
  const { cert, key } = certificateMaker(test).pair({ name: 'www.test' })
  await by('Manager')('PUT', `/ipvsDirector/rips/${rip}`, { body: { port: 81, weight: 7 } })
  const theirs = (await pending())[0]?.id
  const made = await by('Certificates')('POST', '/certificates/certs', { body: { name: 'www', pem: cert + key } })
  test.equal(made.status, 201, made.text)
  const review = await by('Certificates')('GET', '/services/pending?render=true')
  test.match(review.json.data.changes, [{ id: theirs }, { resource: 'certificates', by: 'Certificates@localhost' }])
  for (const body of [{}, { changes: [theirs] }]) {
    const refused = (await by('Certificates')('PUT', '/services/apply', { body })).json
    test.match(refused, { code: 'PERMISSION_DENIED', errors: [{ field: theirs, message: /realServers\.update/ }] })
  }
  for (const which of ['', `/${theirs}`])
    test.match((await by('Certificates')('DELETE', `/services/pending${which}`)).json, {
      code: 'PERMISSION_DENIED',
      errors: [{ field: theirs, message: /realServers\.update/ }],
    })
  await by('Certificates')('PUT', `/certificates/certs/${made.json.data.id}`, { body: { name: 'mistyped' } })
  const own = (await pending()).find(({ resource }) => resource === 'certificates')?.id
  test.equal((await by('Certificates')('DELETE', `/services/pending/${own}`)).status, 200, 'they discard their own')
  await by('Certificates')('POST', '/certificates/certs', { body: { name: 'mistyped', pem: cert + key } })
  test.equal((await by('Certificates')('DELETE', '/services/pending?mine=true')).status, 200)
  test.strictSame(
    (await pending()).map(({ id }) => id),
    [theirs],
  )
  const again = await by('Certificates')('POST', '/certificates/certs', { body: { name: 'www', pem: cert + key } })
  test.equal((await by('Certificates')('PUT', '/services/apply', { body: { mine: true } })).status, 200)
  test.strictSame(
    (await pending()).map(({ id }) => id),
    [theirs],
  )
  test.equal((await by('Manager')('PUT', '/services/apply', { body: { confirmWithin: 60 } })).status, 200)
  test.match((await by('Certificates')('GET', '/services/apply')).json.data, { state: 'waiting' })
  for (const how of ['confirm', 'revert']) {
    test.equal((await by('Certificates')('PUT', `/services/apply/${how}`)).status, 403, how)
  }
  await call('PUT', '/services/apply/confirm')
  await by('Certificates')('DELETE', `/certificates/certs/${again.json.data.id}`)
  const body = { mine: true, confirmWithin: 60 }
  test.equal((await by('Certificates')('PUT', '/services/apply', { body })).status, 200)
  test.equal((await by('Certificates')('PUT', '/services/apply/revert')).status, 200, 'they revert their own')
})

t.test(
  'combined rights: restored changes go live with the right to restore, except access and raw lines',
  async (test) => {
    const { by, target, pending, call, rip } = await people(test, ['Backup', 'Manager'])
    const lines = await call('PUT', '/layer7proxy/raw', { body: { global: ['tune.comp.maxlevel 1'] } })
    test.equal(lines.status, 200, lines.text)
    await call('PUT', '/services/apply')
    const backup = (await by('Backup')('GET', '/backup')).text
    test.equal((await by('Backup')('POST', '/backup/upload', { body: { backup } })).status, 200)
    const file = (await by('Backup')('GET', '/backup/list')).json.data.uploads[0].file
    await call('PUT', `/ipvsDirector/rips/${rip}`, { body: { port: 81, weight: 7 } })
    await call('PUT', '/layer7proxy/raw', { body: { global: [] } })
    await disable(call, target)
    await call('PUT', '/services/apply')
    const restore = (sections: readonly string[]) =>
      by('Backup')('POST', '/backup/restore', { body: { file, sections } })
    const restored = await restore(['realServers'])
    test.equal(restored.status, 200, restored.text)
    test.match(await pending(), [{ resource: 'realServers', by: 'Backup@localhost' }])
    const applied = await by('Backup')('PUT', '/services/apply', { body: { mine: true } })
    test.equal(applied.status, 200, applied.text)
    test.same(await pending(), [])
    test.equal((await restore(['layer7proxy'])).status, 200)
    const raw = (await by('Backup')('PUT', '/services/apply', { body: { mine: true } })).json
    test.match(raw, { code: 'PERMISSION_DENIED', errors: [{ message: /l7Raw\.update/ }] })
    test.equal((await restore(['rbac'])).status, 403)
  },
)

t.test('combined rights: a drain that ends in a halt needs the rights to halt and to apply', async (test) => {
  const { call, appliance, login, rip } = await people(test, [])
  const drain = { path: '/ipvsDirector/rips/{id}/drain', methods: ['PUT'] }
  for (const [name, path] of [
    ['halts', '/ipvsDirector/rips/{id}/halt'],
    ['applies', '/services/apply'],
  ] as const) {
    const body = { name, users: [], groups: [], endpoints: [drain, { path, methods: ['PUT'] }] }
    const role = (await call('POST', '/rbac/roles', { body })).json.data.id
    await createUser(call, `${name}@localhost`, [String(role)])
    await call('PUT', '/services/apply')
    const by = caller(appliance, await login(`${name}@localhost`, PASSWORD))
    const { json } = await by('PUT', `/ipvsDirector/rips/${rip}/drain?wait=4s&then=halt`)
    test.match(json, { code: 'PERMISSION_DENIED', message: /to halt a real server and to apply/ }, `${name} only`)
    test.equal((await by('PUT', `/ipvsDirector/rips/${rip}/drain`)).status, 200)
    await call('DELETE', '/services/pending')
  }
})

t.test('combined rights: a job of a deleted user does nothing more', async (test) => {
  const { call, by, ids, rip } = await people(test)
  const { json, status, text } = await by('Manager')('PUT', `/ipvsDirector/rips/${rip}/drain?wait=4s&then=halt`)
  test.equal(status, 202, text)
  await call('DELETE', `/localUsers/users/${ids['Manager']}`)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const job = async () => (await call('GET', `/jobs/${json.job}`)).json.data
  await until('the end of the job', async () => (await job()).state !== 'running')
  test.match(await job(), { state: 'failed', problem: { code: 'PERMISSION_DENIED', message: /deleted or disabled/ } })
  test.equal((await call('GET', `/ipvsDirector/rips/${rip}`)).json.data.state, 'drained')
})
