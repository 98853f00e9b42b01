import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)
const PATH = '/alerts/rules'

t.test('a rule has defaults for unset fields, and a change keeps omitted ones', async (test) => {
  const { call } = await borrow()
  const { id } = (await call('POST', PATH, { body: { name: 'down', when: { type: 'serverDown' } } })).json.data
  const read = async () => (await call('GET', `${PATH}/${id}`)).json.data
  const usual = {
    enabled: true,
    severity: 'warning',
    for: 30,
    clearFor: 60,
    repeatEvery: 14_400,
    resolve: true,
    targets: [],
  }
  test.same(await read(), { id, name: 'down', when: { type: 'serverDown' }, ...usual })
  await call('PUT', `${PATH}/${id}`, { body: { severity: 'critical', when: { type: 'disk', value: 80 } } })
  test.match(await read(), { severity: 'critical', when: { type: 'disk', value: 80 }, for: 30 })
  await call('PUT', `${PATH}/${id}`, { body: { severity: null } })
  test.match(await read(), { severity: 'warning' })
  test.equal((await call('DELETE', `${PATH}/${id}`)).status, 200)
  test.equal((await call('GET', `${PATH}/${id}`)).status, 404)
})

t.test('impossible conditions are refused, each field by its name', async (test) => {
  const { call } = await borrow()
  const fieldsOf = async (body: object) => {
    const { json } = await call('POST', PATH, { body: { name: 'r', ...body } })
    return (json.errors ?? []).map(({ field }: { field: string }) => field)
  }
  test.same(await fieldsOf({ when: { type: 'threshold', object: 'server', metric: 'nothing', value: 1 } }), [
    'when.metric',
  ])
  test.same(await fieldsOf({ when: { type: 'event', events: ['nothing'] } }), ['when.events.0'])
  test.same(await fieldsOf({ when: { type: 'disk' }, repeatEvery: 5 }), ['repeatEvery'])
  test.same(await fieldsOf({ when: { type: 'disk' }, targets: ['nobody'] }), ['targets.0'])
  test.same(await fieldsOf({ when: { type: 'disk' }, targets: [{ name: 'nobody' }] }), ['targets.0'])
  test.same(await fieldsOf({ when: { type: 'disk', surprise: 1 } }), ['when.surprise'])
})

t.test('the objects of a rule exist when they are named, and may go later', async (test) => {
  const { call } = await borrow()
  const real = async (name: string) =>
    (await call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } })).json.data.id
  const [kept, gone] = [await real('kept'), await real('gone')]
  const server = { type: 'serverDown', ids: [kept, gone] }
  const { id } = (await call('POST', PATH, { body: { name: 'r', when: server } })).json.data
  await call('DELETE', `/ipvsDirector/rips/${gone}`)
  test.equal((await call('PUT', `${PATH}/${id}`, { body: { when: server } })).status, 200, 'sent back as it was read')
  const refusal = await call('POST', PATH, { body: { name: 's', when: server } })
  test.match(refusal.json.errors, [{ field: 'when.ids.1', message: /there is no real server with that id/ }])
  const backend = { name: 'b', mode: 'http', reals: [{ ripId: kept }] }
  const b = (await call('POST', '/layer7proxy/backends', { body: backend })).json.data.id
  const named = { name: 't', when: { type: 'serverDown', ids: [`${b}/${kept}`] } }
  test.equal((await call('POST', PATH, { body: named })).status, 201)
})

t.test('names are unique, and a stale If-Match changes nothing', async (test) => {
  const { call } = await borrow()
  const body = { name: 'r', when: { type: 'cluster' } }
  const { id } = (await call('POST', PATH, { body })).json.data
  test.match(await call('POST', PATH, { body: { ...body, name: 'R' } }), {
    status: 409,
    json: { code: 'NAME_NOT_UNIQUE' },
  })
  const headers = { 'if-match': '"1"' }
  test.match(await call('PUT', `${PATH}/${id}`, { body: { for: 1 }, headers }), { status: 412 })
})

t.test('their number is limited', async (test) => {
  const { call } = await borrow()
  for (let number = 0; number < 200; number++)
    await call('POST', PATH, { body: { name: `r${number}`, when: { type: 'cluster' } } })
  const more = await call('POST', PATH, { body: { name: 'one more', when: { type: 'cluster' } } })
  test.match(more, { status: 409, json: { code: 'LIMIT_REACHED' } })
})
