import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)
const PATH = '/alerts/silences'

t.test('before anything fires the lists are empty', async (test) => {
  const { call } = await borrow()
  test.match((await call('GET', '/alerts')).json, { data: [] })
  test.match((await call('GET', '/alerts?state=firing&limit=5')).json, { data: [] })
  test.match((await call('GET', '/alerts/deliveries')).json, { data: [] })
})

t.test('a silence has an end and a reason, and can be ended', async (test) => {
  const { call } = await borrow()
  const made = await call('POST', PATH, { body: { objectName: 'web*', reason: 'they are rebuilt', for: 3600 } })
  test.equal(made.status, 201)
  const { id } = made.json.data
  const [shown] = (await call('GET', PATH)).json.data
  test.match(shown, { id, ruleId: null, objectName: 'web*', reason: 'they are rebuilt', by: 'admin@localhost' })
  test.equal(Date.parse(shown.endsAt) - Date.parse(shown.startedAt) > 3_590_000, true)
  test.equal((await call('DELETE', `${PATH}/${id}`)).status, 200)
  test.match((await call('GET', PATH)).json, { data: [] })
  test.match(await call('DELETE', `${PATH}/${id}`), { status: 404 })
})

t.test('an invalid silence is refused, each field by its name', async (test) => {
  const { call } = await borrow()
  const fieldsOf = async (body: object) =>
    ((await call('POST', PATH, { body })).json.errors ?? []).map(({ field }: { field: string }) => field)
  test.same(await fieldsOf({ for: 60 }), ['reason'])
  test.same(await fieldsOf({ reason: 'r' }), ['for'])
  test.same(await fieldsOf({ reason: 'r', for: 60, until: '2030-01-01T00:00:00Z' }), ['for'])
  test.same(await fieldsOf({ reason: 'r', until: '2020-01-01T00:00:00Z' }), ['until'])
  test.same(await fieldsOf({ reason: 'r', until: '2099-01-01T00:00:00Z' }), ['until'])
  test.same(await fieldsOf({ reason: 'r', until: '2026-99-99T00:00:00Z' }), ['until'])
  test.same(await fieldsOf({ reason: 'r', for: 60, ruleId: 'nobody' }), ['ruleId'])
  test.same(await fieldsOf({ reason: 'a\nb', for: 60 }), ['reason'])
})
