import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Caller, ETH1, type Received } from '../../fixtures/appliance.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'
import { type ComputePool, InlinePool } from '../../../src/threads/worker-pool.ts'
import * as computeTasks from '../../../workers/compute.ts'
import { signed, uploadBackup } from '../../fixtures/backup.ts'
import { until } from '../../fixtures/until.ts'

const borrow = sharedAppliance(t)

/** Without stored backup files. */
async function lend() {
  const site = await borrow()
  await site.call('DELETE', '/backup')
  return site
}

const PASSPHRASE = { 'x-backup-passphrase': 'correct horse' }

const codes = (answer: Received): readonly string[] =>
  answer.json.errors.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`)

/** Applies a balanced service on its own subnet. */
async function populate(call: Caller, node: string) {
  const id = async (path: string, body: unknown) => String((await call('POST', path, { body })).json.data.id)
  const rip = await id('/ipvsDirector/rips', { name: 'web 1', ip: '198.51.100.7', port: 8001 })
  const backend = await id('/layer7proxy/backends', { name: 'be', mode: 'http', reals: [{ ripId: rip }] })
  await id('/layer7proxy/frontends', {
    name: 'fe',
    mode: 'http',
    ip: '127.0.0.1',
    ports: '8000',
    defaultBackendId: backend,
  })
  const group = await id('/ipgroups', { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 })
  await id(`/${node}/sips`, { groupId: group, ip: '192.0.2.9' })
  await call('PUT', '/services/apply')
  return { rip, backend, group }
}

async function restored(test: Test, call: Caller, body: object, headers: Readonly<Record<string, string>> = {}) {
  const answer = await call('POST', '/backup/restore', { body, headers })
  test.equal(answer.status, 202, answer.text)
  test.equal(answer.headers['Location'], `/api/v1/jobs/${answer.json.job}`)
  test.notOk('data' in answer.json, 'a message only')
  const job = async () => (await call('GET', `/jobs/${answer.json.job}`)).json.data
  return until('the end of the job', job, ({ state }) => state !== 'running')
}

t.test('a backup is one JSON file of running, stored nowhere on the way', async (test) => {
  const { call, node } = await lend()
  await populate(call, node)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'staged only', ip: '192.0.2.1' } })
  const answer = await call('GET', '/backup')
  test.match(answer.headers, {
    'Cache-Control': 'no-store',
    'Content-Disposition': /^attachment; filename="[\w.-]+-\d{8}-\d{6}\.json"$/,
    'content-type': 'application/json',
    'X-Backup-Warning': /^SECRETS_IN_CLEAR: .*private keys.*X-Backup-Passphrase/,
  })
  test.match(answer.json, {
    format: 1,
    createdAt: /Z$/,
    applianceVersion: String,
    nodes: [{ id: node }],
    checksum: /^[0-9a-f]{64}$/,
  })
  test.same(
    answer.json.sections.realServers.data.realServers.map((rip: { name: string }) => rip.name),
    ['web 1'],
  )
  test.match(answer.json.sections.rbac.data.users, [{ passwordHash: /argon2id/ }])
})

t.test('uploads are listed with nodes and sections, restored and deleted', async (test) => {
  const { call, node, state } = await lend()
  await populate(call, node)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  const { data } = (await call('GET', '/backup/list')).json
  test.match(data.uploads, [{ file, dateTime: /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d \+0000$/, nodes: [{ id: node }] }])
  test.same(
    data.uploads[0].sections.slice(0, 10).map(({ name }: { name: string }) => name),
    ['rbac', 'gslb', 'certs', 'layer7proxy', 'fallbackServer', 'clusterha', 'fip', 'healthchecks', 'system', 'licence'],
  )
  test.same(
    data.uploads[0].sections.flatMap((one: { name: string; partRestore: boolean }) =>
      one.partRestore ? [] : [one.name],
    ),
    ['clusterha', 'system', 'licence'],
  )
  test.same(readdirSync(join(state, 'backups', 'uploads')), [file])
  test.equal((await call('DELETE', `/backup/${file}`)).status, 200)
  test.match((await call('DELETE', `/backup/${file}`)).json, { code: 'NOT_FOUND' })
  await uploadBackup(call, (await call('GET', '/backup')).text)
  await call('DELETE', '/backup/uploads')
  test.same((await call('GET', '/backup/list')).json.data.uploads, [])
  test.equal((await call('DELETE', '/backup/auto')).status, 200)
  test.equal((await call('DELETE', '/backup')).status, 200)
})

t.test('a partial restore is staged, for review and apply', async (test) => {
  const { call, node } = await lend()
  const { rip } = await populate(call, node)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  await call('PUT', `/ipvsDirector/rips/${rip}`, { body: { port: 9999 } })
  await call('PUT', '/services/apply')
  const answer = await call('POST', '/backup/restore', { body: { file, sections: ['realServers'] } })
  test.match(answer, { status: 200, json: { status: 'success', data: undefined } })
  const pending = (await call('GET', '/services/pending')).json.data
  test.match(pending.changes, [{ resource: 'realServers', before: { port: 9999 }, after: { port: 8001 } }])
  test.equal(pending.count, 1)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.match((await call('GET', `/ipvsDirector/rips/${rip}`)).json.data, { port: 8001 })
})

t.test('a partial restore that would leave references open names the missing section', async (test) => {
  const { call, node } = await lend()
  const { rip, backend } = await populate(call, node)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  await call('PUT', `/layer7proxy/backends/${backend}`, { body: { reals: [] } })
  await call('DELETE', `/ipvsDirector/rips/${rip}`)
  const answer = await call('POST', '/backup/restore', { body: { file, sections: ['layer7proxy'] } })
  test.same(codes(answer), ['sections SECTION_NEEDED'])
  test.match(answer.json.message, /add the section realServers/)
  const both = await call('POST', '/backup/restore', { body: { file, sections: ['layer7proxy', 'realServers'] } })
  test.equal(both.status, 200, both.text)
})

t.test('path independence: backup, everything changed, full restore, apply: the same configuration', async (test) => {
  const { call, node } = await lend()
  const { rip, backend, group } = await populate(call, node)
  const before = await call('GET', '/backup')
  const file = await uploadBackup(call, before.text)
  await call('PUT', `/layer7proxy/backends/${backend}`, { body: { reals: [], name: 'other' } })
  await call('DELETE', `/ipvsDirector/rips/${rip}`)
  await call('POST', '/rbac/groups', { body: { id: 'ops', name: 'Ops' } })
  await call('PUT', `/ipgroups/${group}`, { body: { name: 'dmz', networkIp: '192.0.2.0', networkMask: 24 } })
  await call('PUT', `/${node}/system/datetime/timezone`, { body: { zone: 'Europe/Paris' } })
  await call('PUT', '/services/apply')
  const job = await restored(test, call, { file })
  test.match(job, { state: 'succeeded', result: { file, warnings: [], next: /confirmWithin/ } })
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.same((await call('GET', '/backup')).json.sections, before.json.sections)
})

t.test('a backup under a passphrase shows no secret and needs it for a restore', async (test) => {
  const { call, node, state } = await lend()
  await populate(call, node)
  const short = await call('GET', '/backup', { headers: { 'x-backup-passphrase': 'short' } })
  test.match(short.json, { code: 'INVALID_QUERY', errors: [{ field: 'X-Backup-Passphrase' }] })
  const sealed = await call('GET', '/backup', { headers: PASSPHRASE })
  test.notOk('X-Backup-Warning' in sealed.headers)
  test.notMatch(sealed.text, /argon2|web 1|198\.51\.100\.7/)
  test.match(sealed.json.sections.rbac.data.encrypted, { kdf: 'scrypt', cipher: 'aes-256-gcm', tag: String })
  const file = await uploadBackup(call, sealed.text)
  test.same(codes(await call('POST', '/backup/restore', { body: { file } })), [
    'X-Backup-Passphrase PASSPHRASE_REQUIRED',
  ])
  const headers = { 'x-backup-passphrase': 'wrong horse' }
  test.same(codes(await call('POST', '/backup/restore', { body: { file }, headers })), [
    'X-Backup-Passphrase PASSPHRASE_WRONG',
  ])
  test.match(await restored(test, call, { file }, PASSPHRASE), { state: 'succeeded', result: { changes: 0 } })
  const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const told = files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes('correct horse'))
  test.same(told, [], 'the passphrase is stored nowhere, the audit log included')
})

t.test('fields belong to one kind of restore; every problem is reported at once', async (test) => {
  const { call, node } = await lend()
  await populate(call, node)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  const restore = (body: object) => call('POST', '/backup/restore', { body: { file, ...body } })
  test.same(codes(await restore({ sections: ['system', 'nope', 'rbac'], nodeId: node, ip: '192.0.2.1' })), [
    'sections.0 FULL_RESTORE_ONLY',
    'sections.1 SECTION_UNKNOWN',
    'nodeId FULL_RESTORE_ONLY',
    'ip FULL_RESTORE_ONLY',
  ])
  test.same(codes(await restore({ nodeId: 'stranger', fipActive: true, mask: 24, gateway: '192.0.2.1' })), [
    'nodeId NOT_FOUND',
    'fipActive PART_RESTORE_ONLY',
    'mask ADDRESS_REQUIRED',
    'gateway ADDRESS_REQUIRED',
  ])
  test.same(codes(await restore({ ip: '192.0.2.1' })), ['mask REQUIRED', 'interface REQUIRED'])
  test.same(codes(await restore({ ip: '192.0.2.1', mask: 64, interface: 'eth7' })), [
    'interface NOT_FOUND',
    'mask OUT_OF_RANGE',
  ])
  const gateway = { ip: '192.0.2.1', mask: 24, interface: 'eth0', gateway: '203.0.113.1' }
  test.same(codes(await restore(gateway)), ['gateway INVALID'])
  test.match((await restore({ file: 'nope-20260101-000000.json' })).json, { code: 'NOT_FOUND' })
  test.match((await restore({ file: '../../config/data.mdb' })).json, { code: 'NOT_FOUND' })
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('the management address of a full restore exists, whatever the backup says', async (test) => {
  const { call, node } = await lend()
  const { group } = await populate(call, node)
  await call('PUT', `/ipgroups/${group}`, {
    body: { name: 'management', networkIp: '192.0.2.0', networkMask: 24, gateway: '192.0.2.254', defaultGateway: true },
  })
  await call('PUT', '/services/apply')
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  const address = { ip: '203.0.113.5', mask: 24, gateway: '203.0.113.1', interface: 'eth1' }
  test.match(await restored(test, call, { file, ...address }), { state: 'succeeded' })
  const groups = (await call('GET', '/ipgroups')).json.data
  test.match(
    groups.find(({ name }: { name: string }) => name === 'management'),
    {
      networkIp: '203.0.113.0',
      gateway: '203.0.113.1',
      defaultGateway: true,
      assignedInterfaces: [{ nodeId: node, interfaceId: ETH1 }],
    },
  )
  test.match(
    groups.find(({ name }: { name: string }) => name === 'management 2'),
    { id: group, defaultGateway: false },
  )
  const ips = (await call('GET', `/${node}/sips`)).json.data.map(({ ip }: { ip: string }) => ip)
  test.same(ips.toSorted(), ['192.0.2.9', '203.0.113.5'])
})

t.test('without the right to manage roles, users and roles cannot be restored either', async (test) => {
  const { call, anonymous, login } = await lend()
  const roles = (await call('GET', '/rbac/roles')).json.data
  const role = roles.find(({ name }: { name: string }) => name === 'Backup').id
  const person = { email: 'b@localhost', firstname: 'B', lastname: 'B', password: 'b-password', disabled: 'false' }
  await call('POST', '/localUsers/users', { body: { ...person, roles: [role] } })
  await call('PUT', '/services/apply')
  const token = await login(person.email, person.password)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  const restore = (sections?: readonly string[]) =>
    anonymous('POST', '/backup/restore', { token, body: { file, ...(sections === undefined ? {} : { sections }) } })
  test.equal((await restore(['rbac'])).status, 200, 'nothing of them would change')
  await call('POST', '/rbac/groups', { body: { id: '', name: 'new' } })
  await call('PUT', '/services/apply')
  for (const sections of [['rbac'], undefined]) {
    const answer = await restore(sections)
    test.match(answer.json, { code: 'PERMISSION_DENIED' })
    test.equal(answer.status, 403)
  }
  test.match((await call('GET', '/services/pending')).json.data, { count: 0 })
  test.equal((await restore(['layer7proxy', 'realServers'])).status, 200)
})

t.test('no edit waits while a backup is opened', async (test) => {
  const pool = new InlinePool(computeTasks)
  let [begun, goOn] = [() => {}, () => {}]
  const opening = new Promise<void>((resolve) => (begun = resolve))
  const held = new Promise<void>((resolve) => (goOn = resolve))
  const compute: ComputePool = {
    run: async (name, input) => {
      if (name === 'openBackup') begun()
      if (name === 'openBackup') await held
      return pool.run(name, input)
    },
    close: () => pool.close(),
  }
  const { call, node } = await ownAppliance(test, { machineMore: { compute } })
  await populate(call, node)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  const restoring = call('POST', '/backup/restore', { body: { file, sections: ['realServers'] } })
  await opening
  const body = { name: 'meanwhile', ip: '192.0.2.77', port: 80 }
  test.equal((await call('POST', '/ipvsDirector/rips', { body })).status, 201)
  const second = await call('POST', '/backup/restore', { body: { file, sections: ['realServers'] } })
  test.match(second, { status: 409, headers: { 'Retry-After': '1' }, json: { code: 'JOB_IN_PROGRESS' } })
  goOn()
  test.equal((await restoring).status, 200)
  test.same((await call('GET', '/services/pending')).json.data.changes, [], 'it is staged relative to that moment')
})

t.test('TRANSACTION_OPEN, inside and outside it', async (test) => {
  const { call, node } = await lend()
  await populate(call, node)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  const { id } = (await call('POST', '/transactions')).json.data
  for (const headers of [{}, { 'x-transaction-id': id }]) {
    const answer = await call('POST', '/backup/restore', { body: { file, sections: ['rbac'] }, headers })
    test.match(answer, { status: 409, json: { code: 'TRANSACTION_OPEN' } })
  }
})

t.test('a restore that would leave no administrator is reported by its check, and its apply refused', async (test) => {
  const { call, node } = await lend()
  await populate(call, node)
  const backup = (await call('GET', '/backup')).json
  for (const user of backup.sections.rbac.data.users) user.disabled = true
  const file = await uploadBackup(call, signed(backup))
  test.match(await restored(test, call, { file }), { state: 'failed', problem: { code: 'IN_USE' } })
  test.match((await call('PUT', '/services/apply')).json, { code: 'IN_USE' })
  test.equal((await call('DELETE', '/services/pending')).status, 200, 'and can be discarded')
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('an apply of a restore is preceded by an automatic backup of the old state', async (test) => {
  const { call, node } = await lend()
  await populate(call, node)
  await call('DELETE', '/backup')
  const before = (await call('GET', '/backup')).json
  before.sections.realServers.data.realServers[0].weight = 7
  const file = await uploadBackup(call, signed(before))
  await call('POST', '/backup/restore', { body: { file, sections: ['realServers'] } })
  test.same((await call('GET', '/backup/list')).json.data.auto, [])
  await call('PUT', '/services/apply')
  const [kept] = (await call('GET', '/backup/list')).json.data.auto
  test.match(kept, { file: /-apply\.json$/ })
  await call('POST', '/backup/restore', { body: { file: kept.file, sections: ['realServers'] } })
  test.match((await call('GET', '/services/pending')).json.data.changes, [
    { before: { weight: 7 }, after: { weight: 100 } },
  ])
})

t.test('a file damaged after its upload is neither listed nor restored', async (test) => {
  const { call, node, state } = await lend()
  await populate(call, node)
  const file = await uploadBackup(call, (await call('GET', '/backup')).text)
  const path = join(state, 'backups', 'uploads', file)
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, -40))
  test.same((await call('GET', '/backup/list')).json.data.uploads, [])
  test.same(codes(await call('POST', '/backup/restore', { body: { file } })), ['file NOT_A_BACKUP'])
})

t.test('an automatic backup that cannot be written is a warning of the apply', async (test) => {
  const { call, state } = await ownAppliance(test)
  mkdirSync(join(state, 'backups'))
  writeFileSync(join(state, 'backups', 'auto'), 'in the way')
  for (const name of ['a', 'b', 'c']) {
    await call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } })
  }
  const answer = await call('PUT', '/services/apply', { body: { comment: 'x' } })
  test.match(answer, {
    status: 200,
    json: { data: { warnings: [{ code: 'REMARK', message: /automatic backup could not be written/ }] } },
  })
  rmSync(join(state, 'backups', 'auto'))
  test.match((await call('GET', '/backup/list')).json, { status: 'success', data: { auto: [] } })
})

t.test(
  'a full restore disables floating IPs: their frontends rest, a partial restore may enable them',
  async (test) => {
    const { call, node, machine } = await lend()
    const { group } = await populate(call, node)
    await call('POST', '/fips', { body: { groupId: group, ip: '192.0.2.20' } })
    await call('POST', '/layer7proxy/frontends', { body: { name: 'vip', mode: 'http', ip: '192.0.2.20', ports: '80' } })
    await call('PUT', '/services/apply')
    const file = await uploadBackup(call, (await call('GET', '/backup')).text)
    const restoredBy = async (body: object) => {
      if ('sections' in body) await call('POST', '/backup/restore', { body })
      else await restored(test, call, body)
      machine.host.takeJournal()
      test.equal((await call('PUT', '/services/apply')).status, 200)
      const [address] = (await call('GET', '/fips')).json.data
      return { enabled: address.enabled, journal: JSON.stringify(machine.host.journal) }
    }
    test.match(await restoredBy({ file }), { enabled: false, journal: /rests: its floating IP is disabled/ })
    test.match(await restoredBy({ file, sections: ['fip'] }), { enabled: false })
    test.match(await restoredBy({ file, sections: ['fip'], fipActive: true }), {
      enabled: true,
      journal: /bind 192\.0\.2\.20:80/,
    })
  },
)
