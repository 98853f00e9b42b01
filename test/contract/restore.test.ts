import t from 'tap'
import type { Caller } from '../fixtures/appliance.ts'
import { signed, uploadBackup } from '../fixtures/backup.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { until } from '../fixtures/until.ts'
import { fullRecords } from './full-records.ts'

/** What remains, because there has to be somebody who restores. */
const KEPT: ReadonlySet<string> = new Set(['users', 'roles', 'nodes'])

async function restore(call: Caller, backup: string): Promise<void> {
  const file = await uploadBackup(call, backup)
  const { job } = (await call('POST', '/backup/restore', { body: { file } })).json
  const ask = async () => (await call('GET', `/jobs/${job}`)).json.data
  const { state, problem } = await until('its check', ask, (now) => now.state !== 'running')
  if (state !== 'succeeded') throw new Error(JSON.stringify(problem))
  await apply(call)
}

async function apply(call: Caller): Promise<void> {
  const { status, text } = await call('PUT', '/services/apply')
  if (status !== 200) throw new Error(text)
}

t.test('every field of every record comes back with a full restore', async (test) => {
  const { call } = await fullRecords(test, certificateMaker(test))
  const [{ id, name }] = (await call('GET', '/ipgroups')).json.data
  // Such a group has no floating IP, and this one has.
  await call('PUT', `/ipgroups/${id}`, { body: { name, connectionSync: false } })
  await apply(call)
  const full = await call('GET', '/backup')
  const blank = JSON.parse(full.text)
  const { data: rbac } = blank.sections.rbac
  const isBuiltIn = new Map<string, boolean>(
    rbac.roles.map((role: { id: string; builtin: boolean }) => [role.id, role.builtin]),
  )
  rbac.roles = rbac.roles.filter((role: { builtin: boolean }) => role.builtin)
  for (const user of rbac.users) {
    user.groups = []
    user.roles = user.roles.filter((role: string) => isBuiltIn.get(role))
  }
  for (const { data } of Object.values<{ data?: Record<string, unknown> }>(blank.sections))
    for (const [kind, records] of Object.entries(data ?? {}))
      if (data !== undefined && Array.isArray(records) && !KEPT.has(kind)) data[kind] = []
  await restore(call, signed(blank))
  test.same((await call('GET', '/layer7proxy/frontends')).json.data, [])
  await restore(call, full.text)
  const { sections } = (await call('GET', '/backup')).json
  for (const section of Object.keys(full.json.sections))
    test.strictSame(sections[section], full.json.sections[section], section)
})
