import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const PATH = '/ipvsDirector/backends'

t.test('a Layer 4 backend has the defaults of IPVS and a TCP check', async (test) => {
  const { call } = await borrow()
  const made = await call('POST', PATH, { body: { name: 'be' } })
  test.equal(made.status, 201)
  const { id } = made.json.data
  test.same((await call('GET', `${PATH}/${id}`)).json.data, {
    id,
    name: 'be',
    scheduler: 'wlc',
    persistTimeout: 0,
    persistMask: null,
    reals: [],
    healthCheck: { type: 'tcp' },
    fallback: null,
  })
  const ripId = (await call('POST', '/ipvsDirector/rips', { body: { name: 'r', ip: '10.0.0.1', port: 80 } })).json.data
    .id
  const body = { scheduler: 'mh', persistTimeout: 300, persistMask: '24', reals: [{ ripId, weight: 3 }] }
  test.equal((await call('PUT', `${PATH}/${id}`, { body })).status, 200)
  test.match((await call('GET', PATH)).json.data, [{ name: 'be', ...body, healthCheck: { type: 'tcp' } }])
  test.match((await call('DELETE', `/ipvsDirector/rips/${ripId}`)).json, { code: 'IN_USE' })
  test.equal((await call('DELETE', `${PATH}/${id}`)).status, 200)
})

t.test('invalid fields are refused by name, all at once', async (test) => {
  const { call } = await borrow()
  const ripId = (await call('POST', '/ipvsDirector/rips', { body: { name: 'r', ip: '10.0.0.1', port: 80 } })).json.data
    .id
  const fields = async (more: object) => {
    const { status, json } = await call('POST', PATH, { body: { name: 'be', ...more } })
    test.equal(status, 422, JSON.stringify(more))
    return json.errors.map(({ field }: { readonly field: string }) => field)
  }
  const twice = [{ ripId }, { ripId }]
  test.same(await fields({ reals: twice, persistMask: '24', healthCheck: { type: 'script' } }), [
    'reals.1.ripId',
    'persistMask',
    'healthCheck.id',
  ])
  test.same(await fields({ scheduler: 'fair' }), ['scheduler'])
  for (const persistMask of ['0', '129', '255.0.255.0', '255.255.255', 'x']) {
    test.same(await fields({ persistTimeout: 60, persistMask }), ['persistMask'], persistMask)
  }
  test.same(await fields({ persistTimeout: 2_678_401 }), ['persistTimeout'])
  test.same(await fields({ healthCheck: { type: 'tcp', rise: 2 } }), ['healthCheck.rise'])
  test.same(await fields({ reals: [{ ripId: 'none' }] }), ['reals.0.ripId'])
})
