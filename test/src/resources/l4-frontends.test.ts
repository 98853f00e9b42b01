import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const PATH = '/ipvsDirector/frontends'

t.test('a Layer 4 frontend is created, read, changed and deleted', async (test) => {
  const { call } = await borrow()
  const backendId = (await call('POST', '/ipvsDirector/backends', { body: { name: 'be' } })).json.data.id
  const body = { name: 'fe', ip: '192.0.2.10', ports: '80,8000-8010', protocol: 'tcp', forwarding: 'gate', backendId }
  const made = await call('POST', PATH, { body })
  test.equal(made.status, 201)
  const { id } = made.json.data
  test.match((await call('GET', `${PATH}/${id}`)).json.data, { ...body, id, enabled: true })
  test.equal((await call('PUT', `${PATH}/${id}`, { body: { forwarding: 'masq', enabled: false } })).status, 200)
  test.match((await call('GET', PATH)).json.data, [{ ...body, forwarding: 'masq', enabled: false }])
  test.match((await call('DELETE', `/ipvsDirector/backends/${backendId}`)).json, { code: 'IN_USE' })
  test.equal((await call('DELETE', `${PATH}/${id}`)).status, 200)
  test.equal((await call('GET', `${PATH}/${id}`)).status, 404)
})

t.test('a frontend that no kernel could serve is refused by field', async (test) => {
  const { call } = await borrow()
  const backendId = (await call('POST', '/ipvsDirector/backends', { body: { name: 'be' } })).json.data.id
  const body = { name: 'fe', ip: '192.0.2.10', ports: '80', protocol: 'tcp', forwarding: 'masq', backendId }
  const fields = async (more: object) => {
    const { status, json } = await call('POST', PATH, { body: { ...body, ...more } })
    test.equal(status, 422, JSON.stringify(more))
    return json.errors.map(({ field }: { readonly field: string }) => field)
  }
  test.same(await fields({ ip: '0.0.0.0', ports: '80,70-90' }), ['ip', 'ports'])
  test.same(await fields({ ip: '::' }), ['ip'])
  test.same(await fields({ ports: '90-80' }), ['ports'])
  test.same(await fields({ protocol: 'sctp', forwarding: 'nat' }), ['protocol', 'forwarding'])
  test.same(await fields({ backendId: 'none' }), ['backendId'])
  const { id } = (await call('POST', PATH, { body })).json.data
  test.equal((await call('PUT', `${PATH}/${id}`, { body: { ports: '80,80' } })).status, 422)
})
