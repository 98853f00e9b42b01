import t from 'tap'
import { revisions } from '../../../src/resources/revisions.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('an earlier revision is compared, restored into the candidate, and applied', async (test) => {
  const { call } = await borrow()
  const rip = async (body: object) => (await call('POST', '/ipvsDirector/rips', { body })).json.data.id
  const id = await rip({ name: 'web', ip: '192.0.2.9', port: 80 })
  await call('PUT', '/services/apply', { body: { comment: 'first' } })
  await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 80, weight: 7 } })
  await call('PUT', '/services/apply')
  const [second, first] = (await call('GET', '/revisions')).json.data
  test.match(first, { comment: 'first', by: 'admin@localhost', count: 1 })
  test.match((await call('GET', `/revisions/${first.revision}/diff/${second.revision}`)).json, {
    message: `From revision ${first.revision} to revision ${second.revision}`,
    data: [{ op: 'update', resourceId: id, before: { weight: 100 }, after: { weight: 7 } }],
  })
  test.equal((await call('PUT', `/revisions/${first.revision}/restore`)).status, 200)
  test.match((await call('GET', '/services/pending')).json.data, { count: 1, changes: [{ after: { weight: 100 } }] })
  await call('PUT', '/services/apply')
  test.match((await call('GET', `/ipvsDirector/rips/${id}`)).json.data, { weight: 100 })
  for (const path of ['/revisions/99/restore', '/revisions/x/restore', '/revisions/1e1/restore']) {
    test.match((await call('PUT', path)).json, { code: 'NOT_FOUND' }, path)
  }
})

t.test('IN_USE: the revision before the first apply, in which no user could undo it', async (test) => {
  const { call } = await borrow()
  const answer = await call('PUT', '/revisions/0/restore')
  test.match(answer, {
    status: 409,
    json: { code: 'IN_USE', data: { usage: [{ resource: 'roles', field: 'users' }] } },
  })
  test.equal((await call('GET', '/services/pending')).json.data.count, 0, 'nothing is staged')
})

t.test('one revision is reverted, and later changes stay', async (test) => {
  const { call, revision: before } = await borrow()
  const rip = (body: object) => call('POST', '/ipvsDirector/rips', { body })
  const { id } = (await rip({ name: 'web', ip: '192.0.2.9', port: 80 })).json.data
  await call('PUT', '/services/apply')
  await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 80, weight: 7 } })
  const applied = await call('PUT', '/services/apply', { body: { comment: 'lighter' } })
  const { revision } = applied.json.data
  await rip({ name: 'later', ip: '192.0.2.10', port: 80 })
  await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 80, name: 'web1' } })
  await call('PUT', '/services/apply')
  const reverted = await call('PUT', `/revisions/${revision}/revert`)
  test.match(reverted, { status: 200, json: { message: new RegExp(`reverse of revision ${revision} is staged`) } })
  test.match((await call('GET', '/services/pending')).json.data, {
    count: 1,
    changes: [{ resourceId: id, before: { weight: 7 }, after: { weight: 100 } }],
  })
  await call('PUT', '/services/apply')
  test.match((await call('GET', `/ipvsDirector/rips/${id}`)).json.data, { weight: 100, name: 'web1' })
  const again = (await call('PUT', `/revisions/${revision}/revert`)).json
  test.match(again, { message: /are already undone; nothing is staged/ })
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  await call('PUT', `/ipvsDirector/rips/${id}`, { body: { port: 80, weight: 9 } })
  test.match((await call('PUT', `/revisions/${before + 1}/revert`)).json, { code: 'REVISION_MISMATCH' })
  const pending = (await call('GET', '/services/pending')).text
  test.match(await call('PUT', `/revisions/${revision}/revert`), {
    status: 412,
    json: { code: 'REVISION_MISMATCH', data: { records: [{ resource: 'realServers', resourceId: id, name: 'web1' }] } },
  })
  test.equal((await call('GET', '/services/pending')).text, pending, 'a refusal changes nothing')
  for (const n of ['0', '99', 'x', '1e1']) {
    test.match((await call('PUT', `/revisions/${n}/revert`)).json, { code: 'NOT_FOUND' }, n)
  }
})

t.test('a revision is read before the turn to edit, for which others would wait', async (test) => {
  const restore = revisions.find(({ name }) => name === 'revisions.restore')
  const contents = { users: [] }
  const kept = { contents: async (revision: number) => ({ ...contents, revision }) }
  const request = { params: { n: '7' } }
  const prepared = await restore?.prepare?.({ revisions: kept } as never, request as never)
  const restored: unknown[] = []
  const ctx = { work: { restore: (given: unknown) => restored.push(given) } }
  restore?.handle(ctx as never, request as never, prepared as never)
  test.same(restored, [{ ...contents, revision: 7 }], 'at once')
})

t.test('a conflict with later changes is refused with its cause, and the next step', async (test) => {
  const { call } = await borrow()
  const rip = async (name: string) =>
    (await call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.9', port: 80 } })).json.data.id
  const apply = async () => (await call('PUT', '/services/apply', { body: { comment: 'x' } })).json.data.revision
  const id = await rip('web')
  const made = await apply()
  const body = { name: 'be', mode: 'http', reals: [{ ripId: id }] }
  const backend = (await call('POST', '/layer7proxy/backends', { body })).json.data.id
  await apply()
  test.match(await call('PUT', `/revisions/${made}/revert`), {
    status: 409,
    json: {
      code: 'IN_USE',
      message: /used by Layer 7 backend be \(.*\); change those first/,
      data: { usage: [{ id: backend, name: 'be' }] },
    },
  })
  await call('PUT', `/layer7proxy/backends/${backend}`, { body: { reals: [] } })
  const emptied = await apply()
  await call('DELETE', `/ipvsDirector/rips/${id}`)
  const removed = await apply()
  test.match(await call('PUT', `/revisions/${emptied}/revert`), {
    status: 412,
    json: {
      code: 'REVISION_MISMATCH',
      message: /backend be \(.*\) would need the real server/,
      data: { records: [{ name: 'be' }] },
    },
  })
  await rip('WEB')
  await apply()
  test.match(await call('PUT', `/revisions/${removed}/revert`), {
    status: 409,
    json: { code: 'NAME_NOT_UNIQUE', message: /named web; rename the present one first/i, errors: [{ field: 'name' }] },
  })
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})
